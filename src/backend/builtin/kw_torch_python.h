// kw_torch_python.h - the other half of kw_torch.h: how its functions ask Python (KW_TORCH_BODY, in one file of an extension), and the
// binding of a module (KW_TORCH_BINDING, in those that have one).
#pragma once
// It waits for Python in every line: compiling it quickly is worth more than what it would gain.
#pragma GCC push_options
#pragma GCC optimize("O0")

namespace kw {
struct python_error : std::exception {}; // Python has the message

inline PyObject *need(PyObject *o)
{
	if (!o)
		throw python_error();
	return o;
}

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
} // namespace kw

#ifdef KW_TORCH_BODY
namespace kw {
void hold(PyObject *o) { Py_XINCREF(o); }
void drop(PyObject *o) { Py_XDECREF(o); }
static object attribute(PyObject *o, const char *name) { return object(need(PyObject_GetAttrString(o, name))); }
template <class... Args> static object call(PyObject *o, const char *name, const char *format, Args... args)
{
	return object(need(PyObject_CallMethod(o, name, format, args...)));
}
} // namespace kw

namespace c10 {
const char *toString(ScalarType t)
{
	static const char *const names[] = { "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf",
					     "ComplexFloat", "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16",
					     "Undefined" };
	return names[static_cast<int>(t)];
}
size_t elementSize(ScalarType t)
{
	static const size_t bytes[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 0 };
	return bytes[static_cast<int>(t)];
}
static PyObject *dtype_object(ScalarType t)
{
	static const char *const names[] = { "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
					     "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16" };
	static PyObject *known[16];
	PyObject *&o = known[static_cast<int>(t)];
	if (!o)
		o = kw::need(PyObject_GetAttrString(kw::torch(), names[static_cast<int>(t)]));
	return o;
}

text &text::operator<<(const char *s)
{
	for (; *s && n_ < sizeof(s_) - 1; s++)
		s_[n_++] = *s;
	return *this;
}
text &text::operator<<(char c)
{
	const char s[] = { c, 0 };
	return *this << s;
}
template <class T> static text &print(text &t, const char *format, T v)
{
	char s[64];
	std::snprintf(s, sizeof(s), format, v);
	return t << static_cast<const char *>(s);
}
text &text::operator<<(long long v) { return print(*this, "%lld", v); }
text &text::operator<<(unsigned long long v) { return print(*this, "%llu", v); }
text &text::operator<<(double v) { return print(*this, "%g", v); }
text &text::operator<<(const void *p) { return print(*this, "%p", p); }
Error::Error(const char *what) : what_(static_cast<char *>(std::malloc(std::strlen(what) + 1)))
{
	if (what_)
		std::strcpy(what_, what);
}
void raise(text &what)
{
	if (what.n_ == 0)
		what << "Expected condition to be true, but got false.";
	what.s_[what.n_] = 0;
	throw Error(what.s_);
}

TensorOptions TensorOptions::device(Device d, int index) const
{
	TensorOptions o = *this;
	int at = d.number >= 0 ? d.number : index;
	const char *name = d.is_cuda() ? "cuda" : "cpu";
	o.device_ = kw::object(kw::need(at >= 0 ? PyUnicode_FromFormat("%s:%d", name, at) : PyUnicode_FromString(name)));
	return o;
}
} // namespace c10

namespace at {
ScalarType Tensor::scalar_type() const
{
	ScalarType &type = known_of_().type;
	if (type == ScalarType::Undefined) {
		kw::object d = kw::attribute(o_.o, "dtype");
		for (int i = 0; i < 16 && type == ScalarType::Undefined; i++)
			if (c10::dtype_object(static_cast<ScalarType>(i)) == d.o)
				type = static_cast<ScalarType>(i);
	}
	return type;
}
Device Tensor::device() const
{
	kw::object d = kw::attribute(o_.o, "device"), t = kw::attribute(d.o, "type"), i = kw::attribute(d.o, "index");
	const char *name = PyUnicode_AsUTF8(t.o);
	return Device(name && std::strcmp(name, "cuda") == 0 ? DeviceType::CUDA : DeviceType::CPU,
		      i.o == Py_None ? -1 : static_cast<int>(kw::integer(i)));
}
TensorOptions Tensor::options() const
{
	TensorOptions o(scalar_type());
	o.device_ = kw::attribute(o_.o, "device");
	return o;
}
void *Tensor::data_ptr() const
{
	void *&data = known_of_().data;
	if (!data)
		data = reinterpret_cast<void *>(static_cast<uintptr_t>(kw::integer(kw::call(o_.o, "data_ptr", nullptr))));
	return data;
}
void *Tensor::checked_(ScalarType want) const
{
	if (scalar_type() != want)
		c10::fail("expected scalar type ", want, " but found ", scalar_type());
	return data_ptr();
}
static void fill_list(const kw::object &tuple, IntArrayRef &out)
{
	int64_t v[kw::most_dims];
	size_t n = 0;
	for (Py_ssize_t i = 0; i < PySequence_Size(tuple.o) && n < kw::most_dims; i++)
		v[n++] = kw::integer(kw::object(kw::need(PySequence_GetItem(tuple.o, i))));
	out = IntArrayRef(v, n);
}
const IntArrayRef &Tensor::sizes_() const
{
	known &k = known_of_();
	if (!k.sizes)
		fill_list(kw::attribute(o_.o, "shape"), k.size);
	k.sizes = true;
	return k.size;
}
const IntArrayRef &Tensor::strides_() const
{
	known &k = known_of_();
	if (!k.strides)
		fill_list(kw::call(o_.o, "stride", nullptr), k.stride);
	k.strides = true;
	return k.stride;
}
static kw::object list_of(const IntArrayRef &s)
{
	kw::object list(kw::need(PyList_New(static_cast<Py_ssize_t>(s.size()))));
	for (size_t i = 0; i < s.size(); i++)
		PyList_SET_ITEM(list.o, static_cast<Py_ssize_t>(i), kw::need(PyLong_FromLongLong(s[i])));
	return list;
}
Tensor Tensor::method_(const char *name) const { return Tensor(kw::call(o_.o, name, nullptr)); }
Tensor Tensor::shaped_(const char *name, const IntArrayRef &s) const { return Tensor(kw::call(o_.o, name, "O", list_of(s).o)); }
Tensor &Tensor::fill_(double v)
{
	kw::call(o_.o, "fill_", "d", v);
	return *this;
}
Tensor Tensor::transpose(int64_t a, int64_t b) const
{
	return Tensor(kw::call(o_.o, "transpose", "LL", static_cast<long long>(a), static_cast<long long>(b)));
}
Tensor Tensor::unsqueeze(int64_t d) const { return Tensor(kw::call(o_.o, "unsqueeze", "L", static_cast<long long>(d))); }
Tensor Tensor::squeeze(int64_t d) const { return Tensor(kw::call(o_.o, "squeeze", "L", static_cast<long long>(d))); }
Tensor Tensor::to(ScalarType t) const { return Tensor(kw::call(o_.o, "to", "O", c10::dtype_object(t))); }
double Tensor::real_() const
{
	double v = PyFloat_AsDouble(kw::call(o_.o, "item", nullptr).o);
	if (PyErr_Occurred())
		throw kw::python_error();
	return v;
}
int64_t Tensor::whole_() const
{
	kw::object v = kw::call(o_.o, "item", nullptr);
	return kw::integer(PyFloat_Check(v.o) ? kw::object(kw::need(PyNumber_Long(v.o))) : v);
}

static Tensor make(const char *name, kw::object args, const TensorOptions &o)
{
	kw::object function = kw::attribute(kw::torch(), name), named(kw::need(PyDict_New()));
	if (o.type_ != ScalarType::Undefined)
		PyDict_SetItemString(named.o, "dtype", c10::dtype_object(o.type_));
	if (o.device_.o)
		PyDict_SetItemString(named.o, "device", o.device_.o);
	return Tensor(kw::object(kw::need(PyObject_Call(function.o, args.o, named.o))));
}
static kw::object one(PyObject *o) { return kw::object(kw::need(PyTuple_Pack(1, o))); }
Tensor empty(const IntArrayRef &s, const TensorOptions &o) { return make("empty", one(list_of(s).o), o); }
Tensor zeros(const IntArrayRef &s, const TensorOptions &o) { return make("zeros", one(list_of(s).o), o); }
Tensor ones(const IntArrayRef &s, const TensorOptions &o) { return make("ones", one(list_of(s).o), o); }
Tensor empty_like(const Tensor &t, const TensorOptions &o) { return make("empty_like", one(t.python()), o); }
Tensor zeros_like(const Tensor &t, const TensorOptions &o) { return make("zeros_like", one(t.python()), o); }
Tensor ones_like(const Tensor &t, const TensorOptions &o) { return make("ones_like", one(t.python()), o); }
} // namespace at

#ifdef KW_TORCH_CUDA
c10::cuda::CUDAStream c10::cuda::getCurrentCUDAStream(int)
{
	kw::object cuda = kw::attribute(kw::torch(), "cuda"), now = kw::call(cuda.o, "current_stream", nullptr),
		   handle = kw::attribute(now.o, "cuda_stream");
	return { reinterpret_cast<CUstream_st *>(static_cast<uintptr_t>(kw::integer(handle))) };
}
#endif
#endif

// ---- to Python and back ----

#ifdef KW_TORCH_BINDING
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
#ifdef KW_STD_STRING
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
#endif
#ifdef KW_STD_OPTIONAL
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
#endif
#ifdef KW_STD_VECTOR
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
#endif
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
	PyMethodDef definition; // it lives as long as the process
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
			PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments (%zd given)", definition.ml_name, sizeof...(A), n);
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
		b->definition = { strdup(name), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&kw::enter)), METH_FASTCALL,
				  strdup(doc) };
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
#endif

#pragma GCC pop_options
