// kw_torch.h - the part of PyTorch's C++ interface that most load_inline sources use: tensors as pointers with sizes, new tensors,
// checks, and the binding to Python. It stands in for torch/extension.h where a source needs no more than that, because parsing
// PyTorch's own headers takes half a minute. What is not here does not compile, and then the real headers are used.
//
// Everything is asked of the Python object; the interpreter's lock is held throughout, as with pybind11 by default.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace kw {
struct python_error : std::exception {}; // Python has the message

inline PyObject *need(PyObject *o)
{
	if (!o)
		throw python_error();
	return o;
}

struct object { // one reference
	PyObject *o = nullptr;
	object() = default;
	explicit object(PyObject *taken) : o(taken) {}
	object(const object &x) : o(x.o) { Py_XINCREF(o); }
	object(object &&x) noexcept : o(x.o) { x.o = nullptr; }
	object &operator=(object x) noexcept
	{
		std::swap(o, x.o);
		return *this;
	}
	~object() { Py_XDECREF(o); }
	static object borrowed(PyObject *p)
	{
		Py_XINCREF(p);
		return object(p);
	}
};

inline object attribute(PyObject *o, const char *name) { return object(need(PyObject_GetAttrString(o, name))); }

inline PyObject *torch()
{
	static PyObject *module = need(PyImport_ImportModule("torch"));
	return module;
}

inline int64_t integer(const object &o)
{
	int64_t v = PyLong_AsLongLong(o.o);
	if (v == -1 && PyErr_Occurred())
		throw python_error();
	return v;
}

template <class... Args> object call(PyObject *o, const char *name, const char *format, Args... args)
{
	return object(need(PyObject_CallMethod(o, name, format, args...)));
}
} // namespace kw

namespace c10 {
struct Error : std::runtime_error {
	using std::runtime_error::runtime_error;
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

struct IntArrayRef {
	std::vector<int64_t> v;
	IntArrayRef() = default;
	IntArrayRef(std::initializer_list<int64_t> l) : v(l) {}
	IntArrayRef(std::vector<int64_t> l) : v(std::move(l)) {}
	size_t size() const { return v.size(); }
	int64_t operator[](size_t i) const { return v[i]; }
	const int64_t *begin() const { return v.data(); }
	const int64_t *end() const { return v.data() + v.size(); }
	const int64_t *data() const { return v.data(); }
	std::vector<int64_t> vec() const { return v; }
	bool empty() const { return v.empty(); }
	int64_t back() const { return v.back(); }
	int64_t front() const { return v.front(); }
	bool operator==(const IntArrayRef &o) const { return v == o.v; }
	bool operator!=(const IntArrayRef &o) const { return v != o.v; }
};

inline std::ostream &operator<<(std::ostream &out, const IntArrayRef &l)
{
	out << "[";
	for (size_t i = 0; i < l.size(); i++)
		out << (i ? ", " : "") << l[i];
	return out << "]";
}

struct TensorOptions {
	ScalarType type_ = ScalarType::Undefined;
	kw::object device_;
	TensorOptions() = default;
	TensorOptions(ScalarType t) : type_(t) {}
	TensorOptions dtype(ScalarType t) const
	{
		TensorOptions o = *this;
		o.type_ = t;
		return o;
	}
	TensorOptions device(Device d, int index = -1) const
	{
		TensorOptions o = *this;
		int at = d.number >= 0 ? d.number : index;
		std::string name = d.is_cuda() ? "cuda" : "cpu";
		o.device_ = kw::object(kw::need(PyUnicode_FromString((at >= 0 ? name + ":" + std::to_string(at) : name).c_str())));
		return o;
	}
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

inline const char *toString(ScalarType t)
{
	static const char *const names[] = { "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf",
					     "ComplexFloat", "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16",
					     "Undefined" };
	return names[static_cast<int>(t)];
}
inline std::ostream &operator<<(std::ostream &out, ScalarType t) { return out << toString(t); }

inline PyObject *dtype_object(ScalarType t)
{
	static const char *const names[] = { "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
					     "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16" };
	static PyObject *known[16];
	PyObject *&o = known[static_cast<int>(t)];
	if (!o)
		o = kw::need(PyObject_GetAttrString(kw::torch(), names[static_cast<int>(t)]));
	return o;
}
inline size_t elementSize(ScalarType t)
{
	static const size_t bytes[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 0 };
	return bytes[static_cast<int>(t)];
}

template <class... Parts> [[noreturn]] void fail(const Parts &...parts)
{
	std::ostringstream text;
	(text << ... << parts);
	throw Error(text.str().empty() ? "Expected condition to be true, but got false." : text.str());
}
template <class T> using optional = std::optional<T>;
constexpr std::nullopt_t nullopt = std::nullopt;
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
	PyObject *python() const { return o_.o; }
	bool defined() const { return o_.o != nullptr; }

	int64_t dim() const { return static_cast<int64_t>(sizes_().size()); }
	int64_t ndimension() const { return dim(); }
	int64_t size(int64_t d) const { return at_(sizes_(), d); }
	int64_t stride(int64_t d) const { return at_(strides_(), d); }
	IntArrayRef sizes() const { return IntArrayRef(sizes_()); }
	IntArrayRef strides() const { return IntArrayRef(strides_()); }
	int64_t numel() const
	{
		int64_t n = 1;
		for (int64_t s : sizes_())
			n *= s;
		return n;
	}
	ScalarType scalar_type() const
	{
		if (type_ == ScalarType::Undefined) {
			kw::object d = kw::attribute(o_.o, "dtype");
			for (int i = 0; i < 16 && type_ == ScalarType::Undefined; i++)
				if (c10::dtype_object(static_cast<ScalarType>(i)) == d.o)
					type_ = static_cast<ScalarType>(i);
		}
		return type_;
	}
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
	Device device() const
	{
		kw::object d = kw::attribute(o_.o, "device"), t = kw::attribute(d.o, "type"), i = kw::attribute(d.o, "index");
		const char *name = PyUnicode_AsUTF8(t.o);
		return Device(name && std::strcmp(name, "cuda") == 0 ? DeviceType::CUDA : DeviceType::CPU,
			      i.o == Py_None ? -1 : static_cast<int>(kw::integer(i)));
	}
	TensorOptions options() const
	{
		TensorOptions o(scalar_type());
		o.device_ = kw::attribute(o_.o, "device");
		return o;
	}

	void *data_ptr() const
	{
		if (!data_)
			data_ = reinterpret_cast<void *>(static_cast<uintptr_t>(kw::integer(kw::call(o_.o, "data_ptr", nullptr))));
		return data_;
	}
	template <class T> T *data_ptr() const
	{
		constexpr ScalarType want = c10::type_of<std::remove_const_t<T>>::value;
		if (scalar_type() != want)
			c10::fail("expected scalar type ", want, " but found ", scalar_type());
		return static_cast<T *>(data_ptr());
	}
	template <class T> T *data() const { return data_ptr<T>(); }
	template <class T> const T *const_data_ptr() const { return data_ptr<T>(); }
	template <class T> T *mutable_data_ptr() const { return data_ptr<T>(); }

	Tensor contiguous() const { return is_contiguous() ? *this : method_("contiguous"); }
	Tensor clone() const { return method_("clone"); }
	Tensor detach() const { return method_("detach"); }
	Tensor t() const { return method_("t"); }
	Tensor flatten() const { return method_("flatten"); }
	Tensor &zero_()
	{
		method_("zero_");
		return *this;
	}
	Tensor &fill_(double v)
	{
		kw::call(o_.o, "fill_", "d", v);
		return *this;
	}
	Tensor transpose(int64_t a, int64_t b) const
	{
		return Tensor(kw::call(o_.o, "transpose", "LL", static_cast<long long>(a), static_cast<long long>(b)));
	}
	Tensor unsqueeze(int64_t d) const { return Tensor(kw::call(o_.o, "unsqueeze", "L", static_cast<long long>(d))); }
	Tensor squeeze(int64_t d) const { return Tensor(kw::call(o_.o, "squeeze", "L", static_cast<long long>(d))); }
	Tensor view(const IntArrayRef &s) const { return shaped_("view", s); }
	Tensor reshape(const IntArrayRef &s) const { return shaped_("reshape", s); }
	Tensor permute(const IntArrayRef &s) const { return shaped_("permute", s); }
	Tensor to(ScalarType t) const { return Tensor(kw::call(o_.o, "to", "O", c10::dtype_object(t))); }
	template <class T> T item() const
	{
		kw::object v = kw::call(o_.o, "item", nullptr);
		double d = PyFloat_AsDouble(v.o);
		if (PyErr_Occurred())
			throw kw::python_error();
		return static_cast<T>(d);
	}

    private:
	kw::object o_;
	mutable void *data_ = nullptr;
	mutable ScalarType type_ = ScalarType::Undefined;
	mutable bool has_sizes_ = false, has_strides_ = false;
	mutable std::vector<int64_t> size_list_, stride_list_;

	static int64_t at_(const std::vector<int64_t> &l, int64_t d)
	{
		int64_t n = static_cast<int64_t>(l.size());
		if (d < -n || d >= n)
			c10::fail("Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", d, ")");
		return l[static_cast<size_t>(d < 0 ? d + n : d)];
	}
	static void list_(const kw::object &tuple, std::vector<int64_t> &out)
	{
		Py_ssize_t n = PySequence_Size(tuple.o);
		out.clear();
		for (Py_ssize_t i = 0; i < n; i++)
			out.push_back(kw::integer(kw::object(kw::need(PySequence_GetItem(tuple.o, i)))));
	}
	const std::vector<int64_t> &sizes_() const
	{
		if (!has_sizes_)
			list_(kw::attribute(o_.o, "shape"), size_list_);
		has_sizes_ = true;
		return size_list_;
	}
	const std::vector<int64_t> &strides_() const
	{
		if (!has_strides_)
			list_(kw::call(o_.o, "stride", nullptr), stride_list_);
		has_strides_ = true;
		return stride_list_;
	}
	Tensor method_(const char *name) const { return Tensor(kw::call(o_.o, name, nullptr)); }
	Tensor shaped_(const char *name, const IntArrayRef &s) const;
};

inline kw::object list_of(const IntArrayRef &s)
{
	kw::object list(kw::need(PyList_New(static_cast<Py_ssize_t>(s.size()))));
	for (size_t i = 0; i < s.size(); i++)
		PyList_SET_ITEM(list.o, static_cast<Py_ssize_t>(i), kw::need(PyLong_FromLongLong(s[i])));
	return list;
}
inline Tensor Tensor::shaped_(const char *name, const IntArrayRef &s) const
{
	return Tensor(kw::call(o_.o, name, "O", list_of(s).o));
}

inline Tensor make(const char *name, kw::object args, const TensorOptions &o)
{
	kw::object function = kw::attribute(kw::torch(), name), named(kw::need(PyDict_New()));
	if (o.type_ != ScalarType::Undefined)
		PyDict_SetItemString(named.o, "dtype", c10::dtype_object(o.type_));
	if (o.device_.o)
		PyDict_SetItemString(named.o, "device", o.device_.o);
	return Tensor(kw::object(kw::need(PyObject_Call(function.o, args.o, named.o))));
}
inline kw::object one(PyObject *o) { return kw::object(kw::need(PyTuple_Pack(1, o))); }
inline Tensor empty(const IntArrayRef &s, const TensorOptions &o = {}) { return make("empty", one(list_of(s).o), o); }
inline Tensor zeros(const IntArrayRef &s, const TensorOptions &o = {}) { return make("zeros", one(list_of(s).o), o); }
inline Tensor ones(const IntArrayRef &s, const TensorOptions &o = {}) { return make("ones", one(list_of(s).o), o); }
inline Tensor empty_like(const Tensor &t, const TensorOptions &o = {}) { return make("empty_like", one(t.python()), o); }
inline Tensor zeros_like(const Tensor &t, const TensorOptions &o = {}) { return make("zeros_like", one(t.python()), o); }
inline Tensor ones_like(const Tensor &t, const TensorOptions &o = {}) { return make("ones_like", one(t.python()), o); }

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
template <class T> using optional = std::optional<T>;
constexpr std::nullopt_t nullopt = std::nullopt;
template <class F> F wrap_pybind_function(F f) { return f; }
} // namespace torch

// ---- to Python and back ----

namespace kw {
inline void expect_tensor(PyObject *o)
{
	static PyObject *type = need(PyObject_GetAttrString(torch(), "Tensor"));
	int is = PyObject_IsInstance(o, type);
	if (is == 1)
		return;
	if (is == 0)
		PyErr_Format(PyExc_TypeError, "incompatible function arguments: a %s where a torch.Tensor is expected", Py_TYPE(o)->tp_name);
	throw python_error();
}

template <class T, class = void> struct convert;
template <> struct convert<at::Tensor> {
	static at::Tensor from(PyObject *o)
	{
		expect_tensor(o);
		return at::Tensor(object::borrowed(o));
	}
	static PyObject *to(const at::Tensor &t)
	{
		PyObject *o = t.defined() ? t.python() : Py_None;
		Py_INCREF(o);
		return o;
	}
};
template <> struct convert<bool> {
	static bool from(PyObject *o) { return PyObject_IsTrue(o) == 1; }
	static PyObject *to(bool v) { return PyBool_FromLong(v); }
};
template <class T> struct convert<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
	static T from(PyObject *o)
	{
		if (PyFloat_Check(o)) {
			PyErr_SetString(PyExc_TypeError, "incompatible function arguments: a float where an int is expected");
			throw python_error();
		}
		return static_cast<T>(integer(object::borrowed(o)));
	}
	static PyObject *to(T v) { return PyLong_FromLongLong(static_cast<long long>(v)); }
};
template <class T> struct convert<T, std::enable_if_t<std::is_floating_point_v<T>>> {
	static T from(PyObject *o)
	{
		double v = PyFloat_AsDouble(o);
		if (PyErr_Occurred())
			throw python_error();
		return static_cast<T>(v);
	}
	static PyObject *to(T v) { return PyFloat_FromDouble(static_cast<double>(v)); }
};
template <> struct convert<std::string> {
	static std::string from(PyObject *o)
	{
		const char *s = PyUnicode_AsUTF8(o);
		if (!s)
			throw python_error();
		return s;
	}
	static PyObject *to(const std::string &s) { return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())); }
};
template <class T> struct convert<std::optional<T>> {
	static std::optional<T> from(PyObject *o)
	{
		return o == Py_None ? std::optional<T>() : std::optional<T>(convert<T>::from(o));
	}
	static PyObject *to(const std::optional<T> &v)
	{
		if (v)
			return convert<T>::to(*v);
		Py_RETURN_NONE;
	}
};
template <class T> struct convert<std::vector<T>> {
	static std::vector<T> from(PyObject *o)
	{
		std::vector<T> out;
		Py_ssize_t n = PySequence_Size(o);
		if (n < 0)
			throw python_error();
		for (Py_ssize_t i = 0; i < n; i++)
			out.push_back(convert<T>::from(object(need(PySequence_GetItem(o, i))).o));
		return out;
	}
	static PyObject *to(const std::vector<T> &v)
	{
		PyObject *list = need(PyList_New(static_cast<Py_ssize_t>(v.size())));
		for (size_t i = 0; i < v.size(); i++)
			PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), convert<T>::to(v[i]));
		return list;
	}
};
template <class... T> struct convert<std::tuple<T...>> {
	static PyObject *to(const std::tuple<T...> &v)
	{
		PyObject *out = need(PyTuple_New(sizeof...(T)));
		fill(out, v, std::index_sequence_for<T...>());
		return out;
	}
	template <size_t... I> static void fill(PyObject *out, const std::tuple<T...> &v, std::index_sequence<I...>)
	{
		(PyTuple_SET_ITEM(out, I, convert<T>::to(std::get<I>(v))), ...);
	}
};

struct callable {
	PyMethodDef definition;
	std::string name, doc;
	virtual ~callable() = default;
	virtual PyObject *run(PyObject *const *args, Py_ssize_t n) = 0;
};
template <class R, class... A> struct bound final : callable {
	R (*function)(A...);
	template <size_t... I> PyObject *pass(PyObject *const *args, std::index_sequence<I...>)
	{
		std::tuple<std::decay_t<A>...> values{ convert<std::decay_t<A>>::from(args[I])... };
		if constexpr (std::is_void_v<R>) {
			function(static_cast<A>(std::get<I>(values))...);
			Py_RETURN_NONE;
		} else {
			return convert<std::decay_t<R>>::to(function(static_cast<A>(std::get<I>(values))...));
		}
	}
	PyObject *run(PyObject *const *args, Py_ssize_t n) override
	{
		if (n != static_cast<Py_ssize_t>(sizeof...(A))) {
			PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments (%zd given)", name.c_str(), sizeof...(A), n);
			return nullptr;
		}
		return pass(args, std::index_sequence_for<A...>());
	}
};
inline PyObject *enter(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	try {
		return static_cast<callable *>(PyCapsule_GetPointer(self, nullptr))->run(args, n);
	} catch (const python_error &) {
	} catch (const std::exception &e) {
		PyErr_SetString(PyExc_RuntimeError, e.what());
	}
	return nullptr;
}
} // namespace kw

namespace pybind11 {
struct module_ {
	PyObject *m;
	template <class R, class... A> module_ &def(const char *name, R (*f)(A...), const char *doc = "")
	{
		auto *b = new kw::bound<R, A...>();
		b->function = f;
		b->name = name;
		b->doc = doc;
		b->definition = { b->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&kw::enter)), METH_FASTCALL,
				  b->doc.c_str() };
		kw::object self(kw::need(PyCapsule_New(static_cast<kw::callable *>(b), nullptr, nullptr)));
		if (PyModule_AddObject(m, name, kw::need(PyCFunction_New(&b->definition, self.o))) != 0)
			throw kw::python_error();
		return *this;
	}
	struct doc_slot {
		template <class T> void operator=(const T &) {}
	};
	doc_slot doc() { return {}; }
};
} // namespace pybind11
namespace py = pybind11;

#define KW_JOIN_(a, b) a##b
#define KW_JOIN(a, b) KW_JOIN_(a, b)
#define KW_TEXT_(a) #a
#define KW_TEXT(a) KW_TEXT_(a)
#define PYBIND11_MODULE(module_name, variable) \
	static void kw_fill_module(::pybind11::module_ &); \
	extern "C" __attribute__((visibility("default"))) PyObject *KW_JOIN(PyInit_, module_name)() \
	{ \
		static PyModuleDef definition = { PyModuleDef_HEAD_INIT, KW_TEXT(module_name), nullptr, -1, nullptr, nullptr, nullptr, nullptr, \
						  nullptr }; \
		::pybind11::module_ m{ PyModule_Create(&definition) }; \
		try { \
			if (m.m) \
				kw_fill_module(m); \
			return m.m; \
		} catch (const std::exception &e) { \
			if (!PyErr_Occurred()) \
				PyErr_SetString(PyExc_ImportError, e.what()); \
		} \
		return nullptr; \
	} \
	static void kw_fill_module(::pybind11::module_ &variable)

#ifdef KW_TORCH_CUDA
#include <cuda_runtime.h>

namespace c10::cuda {
struct CUDAStream {
	cudaStream_t s;
	operator cudaStream_t() const { return s; }
	cudaStream_t stream() const { return s; }
};
inline CUDAStream getCurrentCUDAStream(int = -1)
{
	kw::object cuda = kw::attribute(kw::torch(), "cuda"), now = kw::call(cuda.o, "current_stream", nullptr),
		   handle = kw::attribute(now.o, "cuda_stream");
	return { reinterpret_cast<cudaStream_t>(static_cast<uintptr_t>(kw::integer(handle))) };
}
struct CUDAGuard {
	explicit CUDAGuard(at::Device) {}
};
struct OptionalCUDAGuard {
	explicit OptionalCUDAGuard(std::optional<at::Device>) {}
};
} // namespace c10::cuda
namespace at {
inline std::optional<Device> device_of(const Tensor &t) { return t.device(); }
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
