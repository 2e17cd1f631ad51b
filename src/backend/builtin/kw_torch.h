// kw_torch.h - the part of PyTorch's C++ interface that most load_inline sources use: tensors as pointers with sizes, new tensors,
// checks, and the binding to Python. It stands in for torch/extension.h where a source needs no more than that, because parsing
// PyTorch's own headers takes half a minute. What is not here does not compile, and then the real headers are used.
//
// A CUDA source is parsed three times, so what it sees is small: declarations, no header of Python, and of the standard library
// what CUDA brings along and what the source names (KW_STD_..., by python/module_build.py). What they do is compiled once, with
// the C++ file beside it (kw_torch_python.h). What a class holds never depends on what is defined.
//
// Everything is asked of the Python object; the interpreter's lock is held throughout, as with pybind11 by default.
#pragma once
#if defined(KW_TORCH_BODY) || defined(KW_TORCH_BINDING)
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <tuple>
#else
typedef struct _object PyObject; // as Python.h has it
#endif

#include <cassert>
#include <cfloat>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>
#ifdef KW_STD_ALGORITHM
#include <algorithm>
#endif
#ifdef KW_STD_ARRAY
#include <array>
#endif
#ifdef KW_STD_CMATH
#include <cmath>
#endif
#ifdef KW_STD_FUNCTIONAL
#include <functional>
#endif
#ifdef KW_STD_IOSTREAM
#include <iostream>
#include <sstream>
#endif
#ifdef KW_STD_LIMITS
#include <limits>
#endif
#ifdef KW_STD_MAP
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#endif
#ifdef KW_STD_MEMORY
#include <memory>
#endif
#ifdef KW_STD_MINMAX
#ifdef __GLIBCXX__
#include <bits/stl_algobase.h>
#else
#include <algorithm>
#endif
#endif
#ifdef KW_STD_NUMERIC
#include <numeric>
#endif
#ifdef KW_STD_OPTIONAL
#include <optional>
#endif
#ifdef KW_STD_STDEXCEPT
#include <stdexcept>
#endif
#ifdef KW_STD_STRING
#include <string>
#endif
#ifdef KW_STD_TUPLE
#include <tuple>
#endif
#ifdef KW_STD_VECTOR
#include <vector>
#endif

struct CUstream_st; // as CUDA has it

namespace kw {
constexpr size_t most_dims = 64; // as PyTorch

void hold(PyObject *); // may be NULL, both
void drop(PyObject *);

struct object { // one reference
	PyObject *o = nullptr;
	object() = default;
	explicit object(PyObject *taken) : o(taken) {}
	object(const object &x) : o(x.o) { hold(o); }
	object(object &&x) noexcept : o(x.o) { x.o = nullptr; }
	object &operator=(object x) noexcept
	{
		PyObject *mine = o;
		o = x.o;
		x.o = mine;
		return *this;
	}
	~object() { drop(o); }
	static object borrowed(PyObject *p)
	{
		hold(p);
		return object(p);
	}
};
} // namespace kw

namespace c10 {
class Error : public std::exception {
    public:
	explicit Error(const char *what);
	Error(const Error &e) : Error(e.what_) {}
	Error &operator=(const Error &) = delete;
	~Error() override { std::free(what_); }
	const char *what() const noexcept override { return what_ ? what_ : "out of memory"; }

    private:
	char *what_;
};

enum class ScalarType : int8_t {
	Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8, QInt32, BFloat16,
	Undefined
};
enum class DeviceType : int8_t { CPU, CUDA };

struct Half;
struct BFloat16;

struct Device {
	DeviceType kind = DeviceType::CPU;
	int number = -1;
	Device(DeviceType t = DeviceType::CPU, int i = -1) : kind(t), number(i) {}
	bool is_cuda() const { return kind == DeviceType::CUDA; }
	bool is_cpu() const { return kind == DeviceType::CPU; }
	DeviceType type() const { return kind; }
	int index() const { return number; }
	bool operator==(const Device &d) const { return kind == d.kind && number == d.number; }
	bool operator!=(const Device &d) const { return !(*this == d); }
};

struct IntArrayRef { // it holds what it was made of
	IntArrayRef() = default;
	IntArrayRef(int64_t one) { add_(one); }
	IntArrayRef(std::initializer_list<int64_t> l)
	{
		for (int64_t i : l)
			add_(i);
	}
	IntArrayRef(const int64_t *from, size_t n)
	{
		for (size_t i = 0; i < n; i++)
			add_(from[i]);
	}
	/* A vector or an array. */
	template <class L, class E = decltype(std::declval<const L &>().data()[0]),
		  class = std::enable_if_t<std::is_same_v<std::decay_t<E>, int64_t> && !std::is_same_v<L, IntArrayRef>>>
	IntArrayRef(const L &l) : IntArrayRef(l.data(), l.size()) {}
	IntArrayRef(const IntArrayRef &o) : IntArrayRef(o.v_, o.n_) {}
	IntArrayRef &operator=(const IntArrayRef &o)
	{
		n_ = 0;
		for (size_t i = 0; i < o.n_; i++)
			add_(o.v_[i]);
		return *this;
	}
	size_t size() const { return n_; }
	int64_t operator[](size_t i) const { return v_[i]; }
	const int64_t *begin() const { return v_; }
	const int64_t *end() const { return v_ + n_; }
	const int64_t *data() const { return v_; }
	bool empty() const { return n_ == 0; }
	int64_t back() const { return v_[n_ - 1]; }
	int64_t front() const { return v_[0]; }
	bool operator==(const IntArrayRef &o) const
	{
		bool same = n_ == o.n_;
		for (size_t i = 0; same && i < n_; i++)
			same = v_[i] == o.v_[i];
		return same;
	}
	bool operator!=(const IntArrayRef &o) const { return !(*this == o); }
#ifdef KW_STD_VECTOR
	std::vector<int64_t> vec() const { return std::vector<int64_t>(begin(), end()); }
#endif

    private:
	size_t n_ = 0;
	int64_t v_[kw::most_dims];
	void add_(int64_t i);
};

struct TensorOptions {
	ScalarType type_ = ScalarType::Undefined;
	kw::object device_;
	TensorOptions() = default;
	TensorOptions(ScalarType t) : type_(t) {}
	TensorOptions(Device d) { *this = device(d); }
	TensorOptions(DeviceType t) { *this = device(t); }
	TensorOptions dtype(ScalarType t) const
	{
		TensorOptions o = *this;
		o.type_ = t;
		return o;
	}
	TensorOptions device(Device d, int index = -1) const;
	TensorOptions device(DeviceType t, int index = -1) const { return device(Device(t, index)); }
	TensorOptions requires_grad(bool) const { return *this; }
};

template <class T> struct type_of;
#define KW_TYPE(c, s) \
	template <> struct type_of<c> { \
		static constexpr ScalarType value = ScalarType::s; \
	};
KW_TYPE(uint8_t, Byte) KW_TYPE(int8_t, Char) KW_TYPE(int16_t, Short) KW_TYPE(int32_t, Int) KW_TYPE(int64_t, Long)
KW_TYPE(float, Float) KW_TYPE(double, Double) KW_TYPE(bool, Bool) KW_TYPE(Half, Half) KW_TYPE(BFloat16, BFloat16)
#undef KW_TYPE
template <> struct type_of<std::conditional_t<std::is_same_v<int64_t, long>, long long, long>> {
	static constexpr ScalarType value = ScalarType::Long;
};

const char *toString(ScalarType t);
size_t elementSize(ScalarType t);

struct text { // what a failed check says, as a stream would write it
	text &operator<<(const char *s);
	text &operator<<(char c);
	text &operator<<(bool b) { return *this << static_cast<long long>(b); }
	text &operator<<(int v) { return *this << static_cast<long long>(v); }
	text &operator<<(unsigned v) { return *this << static_cast<unsigned long long>(v); }
	text &operator<<(long v) { return *this << static_cast<long long>(v); }
	text &operator<<(unsigned long v) { return *this << static_cast<unsigned long long>(v); }
	text &operator<<(long long v);
	text &operator<<(unsigned long long v);
	text &operator<<(double v);
	text &operator<<(const void *p);
	text &operator<<(ScalarType t) { return *this << toString(t); }
	text &operator<<(DeviceType t) { return *this << (t == DeviceType::CUDA ? "cuda" : "cpu"); }
	text &operator<<(const Device &d)
	{
		*this << d.kind;
		return d.number < 0 ? *this : *this << ":" << d.number;
	}
	text &operator<<(const IntArrayRef &l)
	{
		*this << "[";
		for (size_t i = 0; i < l.size(); i++)
			*this << (i ? ", " : "") << l[i];
		return *this << "]";
	}
	template <class T> auto operator<<(const T &s) -> decltype(*this << s.c_str()) { return *this << s.c_str(); }
	char s_[4096];
	size_t n_ = 0;
};
[[noreturn]] void raise(text &what);
template <class... Parts> [[noreturn]] void fail(const Parts &...parts)
{
	text t;
	(t << ... << parts);
	raise(t);
}
inline void IntArrayRef::add_(int64_t i)
{
	if (n_ == kw::most_dims)
		fail("a list of more than ", kw::most_dims, " numbers");
	v_[n_++] = i;
}
#ifdef KW_STD_IOSTREAM
inline std::ostream &operator<<(std::ostream &out, ScalarType t) { return out << toString(t); }
inline std::ostream &operator<<(std::ostream &out, const IntArrayRef &l)
{
	out << "[";
	for (size_t i = 0; i < l.size(); i++)
		out << (i ? ", " : "") << l[i];
	return out << "]";
}
#endif
#ifdef KW_STD_OPTIONAL
template <class T> using optional = std::optional<T>;
constexpr std::nullopt_t nullopt = std::nullopt;
#endif
} // namespace c10

#define TORCH_CHECK(cond, ...) \
	do { \
		if (!(cond)) \
			::c10::fail(__VA_ARGS__); \
	} while (0)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ERROR(...) ::c10::fail(__VA_ARGS__)

namespace at {
using c10::BFloat16;
using c10::Device;
using c10::DeviceType;
using c10::Half;
using c10::IntArrayRef;
using c10::ScalarType;
using c10::TensorOptions;

class Tensor {
    public:
	Tensor() = default;
	explicit Tensor(kw::object o) : o_(std::move(o)) {}
	Tensor(const Tensor &t) : o_(t.o_), known_(t.known_)
	{
		if (known_)
			known_->shared++;
	}
	Tensor(Tensor &&t) noexcept : o_(std::move(t.o_)), known_(t.known_) { t.known_ = nullptr; }
	Tensor &operator=(Tensor t) noexcept
	{
		o_ = std::move(t.o_);
		known *mine = known_;
		known_ = t.known_;
		t.known_ = mine;
		return *this;
	}
	~Tensor()
	{
		if (known_ && --known_->shared == 0)
			delete known_;
	}
	PyObject *python() const { return o_.o; }
	bool defined() const { return o_.o != nullptr; }

	int64_t dim() const { return static_cast<int64_t>(sizes_().size()); }
	int64_t ndimension() const { return dim(); }
	int64_t size(int64_t d) const { return at_(sizes_(), d); }
	int64_t stride(int64_t d) const { return at_(strides_(), d); }
	IntArrayRef sizes() const { return sizes_(); }
	IntArrayRef strides() const { return strides_(); }
	int64_t numel() const
	{
		int64_t n = 1;
		for (int64_t s : sizes_())
			n *= s;
		return n;
	}
	ScalarType scalar_type() const;
	ScalarType dtype() const { return scalar_type(); }
	int64_t element_size() const { return static_cast<int64_t>(c10::elementSize(scalar_type())); }
	int64_t itemsize() const { return element_size(); }
	size_t nbytes() const { return static_cast<size_t>(numel() * element_size()); }
	bool is_contiguous() const
	{
		int64_t expect = 1;
		for (int64_t d = dim() - 1; d >= 0; d--) {
			if (size(d) != 1 && stride(d) != expect && numel() > 0)
				return false;
			expect *= size(d);
		}
		return true;
	}
	bool is_cuda() const { return device().is_cuda(); }
	bool is_cpu() const { return device().is_cpu(); }
	int64_t get_device() const { return device().index(); }
	Device device() const;
	TensorOptions options() const;

	void *data_ptr() const;
	template <class T> T *data_ptr() const { return static_cast<T *>(checked_(c10::type_of<std::remove_const_t<T>>::value)); }
	template <class T> T *data() const { return data_ptr<T>(); }
	template <class T> const T *const_data_ptr() const { return data_ptr<T>(); }
	template <class T> T *mutable_data_ptr() const { return data_ptr<T>(); }

	Tensor contiguous() const { return is_contiguous() ? *this : method_("contiguous"); }
	Tensor clone() const { return method_("clone"); }
	Tensor detach() const { return method_("detach"); }
	Tensor cpu() const { return method_("cpu"); }
	Tensor cuda() const { return method_("cuda"); }
	Tensor t() const { return method_("t"); }
	Tensor flatten() const { return method_("flatten"); }
	Tensor &zero_()
	{
		method_("zero_");
		return *this;
	}
	Tensor &fill_(double v);
	Tensor transpose(int64_t a, int64_t b) const;
	Tensor unsqueeze(int64_t d) const;
	Tensor squeeze(int64_t d) const;
	Tensor view(const IntArrayRef &s) const { return shaped_("view", s); }
	Tensor reshape(const IntArrayRef &s) const { return shaped_("reshape", s); }
	Tensor permute(const IntArrayRef &s) const { return shaped_("permute", s); }
	Tensor expand(const IntArrayRef &s) const { return shaped_("expand", s); }
	Tensor to(ScalarType t) const;
	template <class T> T item() const
	{
		if constexpr (std::is_floating_point_v<T>)
			return static_cast<T>(real_());
		else
			return static_cast<T>(whole_());
	}

    private:
	struct known { // what was asked for before
		int shared = 1;
		bool sizes = false, strides = false;
		void *data = nullptr;
		ScalarType type = ScalarType::Undefined;
		IntArrayRef size, stride;
	};
	kw::object o_;
	mutable known *known_ = nullptr;

	known &known_of_() const
	{
		if (!known_)
			known_ = new known;
		return *known_;
	}
	static int64_t at_(const IntArrayRef &l, int64_t d)
	{
		int64_t n = static_cast<int64_t>(l.size());
		if (d < -n || d >= n)
			c10::fail("Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", d, ")");
		return l[static_cast<size_t>(d < 0 ? d + n : d)];
	}
	const IntArrayRef &sizes_() const;
	const IntArrayRef &strides_() const;
	void *checked_(ScalarType want) const;
	Tensor method_(const char *name) const;
	Tensor shaped_(const char *name, const IntArrayRef &s) const;
	double real_() const;
	int64_t whole_() const;
};

Tensor empty(const IntArrayRef &s, const TensorOptions &o = {});
Tensor zeros(const IntArrayRef &s, const TensorOptions &o = {});
Tensor ones(const IntArrayRef &s, const TensorOptions &o = {});
Tensor empty_like(const Tensor &t, const TensorOptions &o = {});
Tensor zeros_like(const Tensor &t, const TensorOptions &o = {});
Tensor ones_like(const Tensor &t, const TensorOptions &o = {});

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short, kInt = ScalarType::Int,
		     kLong = ScalarType::Long, kHalf = ScalarType::Half, kFloat = ScalarType::Float, kDouble = ScalarType::Double,
		     kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16, kUInt8 = ScalarType::Byte, kInt8 = ScalarType::Char,
		     kInt16 = ScalarType::Short, kInt32 = ScalarType::Int, kInt64 = ScalarType::Long, kFloat16 = ScalarType::Half,
		     kFloat32 = ScalarType::Float, kFloat64 = ScalarType::Double;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
} // namespace at

#define KW_CASE(enum_type, c_type, ...) \
	case ::at::ScalarType::enum_type: { \
		using scalar_t [[maybe_unused]] = c_type; \
		return __VA_ARGS__(); \
	}
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
	[&] { \
		switch (TYPE) { \
			KW_CASE(Float, float, __VA_ARGS__) \
			KW_CASE(Double, double, __VA_ARGS__) \
		default: \
			::c10::fail("\"", NAME, "\" not implemented for '", TYPE, "'"); \
		} \
	}()

namespace torch {
using namespace at;
#ifdef KW_STD_OPTIONAL
template <class T> using optional = std::optional<T>;
constexpr std::nullopt_t nullopt = std::nullopt;
#endif
template <class F> F wrap_pybind_function(F f) { return f; }
} // namespace torch

#ifdef KW_TORCH_CUDA
namespace c10::cuda {
struct CUDAStream {
	CUstream_st *s;
	operator CUstream_st *() const { return s; }
	CUstream_st *stream() const { return s; }
};
CUDAStream getCurrentCUDAStream(int = -1);
struct CUDAGuard {
	explicit CUDAGuard(at::Device) {}
};
struct OptionalCUDAGuard {
#ifdef KW_STD_OPTIONAL
	explicit OptionalCUDAGuard(std::optional<at::Device>) {}
#endif
	explicit OptionalCUDAGuard(at::Device) {}
};
} // namespace c10::cuda
namespace at {
inline Device device_of(const Tensor &t) { return t.device(); } // of a tensor there always is one
} // namespace at
namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::OptionalCUDAGuard;
} // namespace at::cuda
#define C10_CUDA_CHECK(expr) \
	do { \
		cudaError_t kw_error = (expr); \
		if (kw_error != cudaSuccess) \
			::c10::fail("CUDA error: ", cudaGetErrorString(kw_error)); \
	} while (0)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#endif

#if defined(KW_TORCH_BODY) || defined(KW_TORCH_BINDING)
#include "kw_torch_python.h"
#endif
