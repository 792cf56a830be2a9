package main

import (
	"fmt"
	"io"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// special has the types whose JSON is not that of their fields; the decoder converts them by this name.
var special = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):                            "quantity",
	reflect.TypeOf(intstr.IntOrString{}):                           "int-or-string",
	reflect.TypeOf(metav1.Time{}):                                  "time",
	reflect.TypeOf(metav1.MicroTime{}):                             "micro-time",
	reflect.TypeOf(metav1.Duration{}):                              "duration",
	reflect.TypeOf(metav1.FieldsV1{}):                              "fields",
	reflect.TypeOf(runtime.RawExtension{}):                         "raw",
	reflect.TypeOf(apiextensionsv1.JSON{}):                         "json",
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrArray{}):       "schema-or-array",
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrBool{}):        "schema-or-bool",
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrStringArray{}): "schema-or-strings",
}

// substitutes has the message that is on the wire in place of a type.
var substitutes = map[reflect.Type]string{
	// The envelope of a body; message 1 is its runtime.TypeMeta.
	reflect.TypeOf(runtime.Unknown{}):   "Unknown m1:typeMeta y!raw s:contentEncoding s:contentType",
	reflect.TypeOf(resource.Quantity{}): "Quantity s!String_",
	reflect.TypeOf(metav1.Time{}):       "Timestamp l!seconds i!nanos",
	reflect.TypeOf(metav1.MicroTime{}):  "Timestamp l!seconds i!nanos",
	reflect.TypeOf(metav1.Duration{}):   "Duration L!duration",
	reflect.TypeOf(metav1.FieldsV1{}):   "FieldsV1 y!Raw",
}

type message struct {
	goType reflect.Type
	isKind bool
	ref    int
}

type table struct {
	messages map[reflect.Type]*message
	order    []*message
}

func (t *table) add(goType reflect.Type, isKind bool) *message {
	found := t.messages[goType]
	if found == nil {
		found = &message{goType: goType}
		t.messages[goType] = found
		t.order = append(t.order, found)
		t.addFields(goType)
	}
	found.isKind = found.isKind || isKind
	return found
}

func (t *table) addFields(goType reflect.Type) {
	if _, ok := substitutes[goType]; ok || goType.Kind() != reflect.Struct {
		return
	}
	for _, field := range fieldsOf(goType) {
		if isMessage(field.element) {
			t.add(field.element, false)
		}
	}
}

// field is one field of a message: what is on the wire, and its JSON.
type field struct {
	number    int
	goName    string
	jsonName  string
	inline    bool
	repeated  bool
	isMap     bool
	pointer   bool
	omitEmpty bool
	omitZero  bool
	// element is the type without pointer, list or map. It decides what is on the wire: the wire types of the tags are
	// wrong for some pointers.
	element reflect.Type
}

func fieldsOf(goType reflect.Type) []field {
	var result []field
	for i := 0; i < goType.NumField(); i++ {
		structField := goType.Field(i)
		tag, ok := structField.Tag.Lookup("protobuf")
		if !ok || tag == "-" {
			continue
		}
		parts := strings.Split(tag, ",")
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			panic(fmt.Sprintf("%v.%s: tag %q", goType, structField.Name, tag))
		}
		result = append(result, fieldOf(goType, structField, number))
	}
	sort.Slice(result, func(i, j int) bool { return result[i].number < result[j].number })
	return result
}

func fieldOf(owner reflect.Type, structField reflect.StructField, number int) field {
	f := field{number: number, goName: structField.Name, element: structField.Type}
	options := strings.Split(structField.Tag.Get("json"), ",")
	f.jsonName = options[0]
	for _, option := range options[1:] {
		f.inline = f.inline || option == "inline"
		f.omitEmpty = f.omitEmpty || option == "omitempty"
		f.omitZero = f.omitZero || option == "omitzero"
	}
	if f.jsonName == "" {
		// Go inlines embedded structs without a name, with or without the option.
		f.inline = structField.Anonymous
		f.jsonName = structField.Name
	}
	if f.element.Kind() == reflect.Pointer {
		f.pointer = true
		f.element = f.element.Elem()
	}
	switch {
	case isMessage(f.element):
	case f.element.Kind() == reflect.Map:
		if f.element.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("%v.%s: the key is not a string", owner, f.goName))
		}
		f.isMap = true
		f.element = f.element.Elem()
	case f.element.Kind() == reflect.Slice && f.element.Elem().Kind() != reflect.Uint8:
		f.repeated = true
		f.element = f.element.Elem()
		if f.element.Kind() == reflect.Pointer {
			panic(fmt.Sprintf("%v.%s: a list of pointers", owner, f.goName))
		}
	}
	return f
}

// isMessage returns whether a type is a message of its own: a struct, or a list with a message around it.
func isMessage(goType reflect.Type) bool {
	if goType.Kind() == reflect.Struct {
		return true
	}
	_, ok := reflect.New(goType).Interface().(interface{ Unmarshal([]byte) error })
	return ok
}

var scalars = map[reflect.Kind]string{
	reflect.String:  "s",
	reflect.Bool:    "b",
	reflect.Int32:   "i",
	reflect.Int64:   "l",
	reflect.Float64: "d",
}

func (t *table) token(owner reflect.Type, f field, previous int) string {
	var text strings.Builder
	if f.number != previous+1 {
		fmt.Fprintf(&text, "%d", f.number)
	}
	if f.isMap {
		text.WriteString("%")
	} else if f.repeated {
		text.WriteString("*")
	}
	isStruct := false
	switch {
	case isMessage(f.element):
		isStruct = f.element.Kind() == reflect.Struct
		fmt.Fprintf(&text, "m%d", t.messages[f.element].ref)
	case f.element.Kind() == reflect.Slice:
		text.WriteString("y")
	default:
		scalar, ok := scalars[f.element.Kind()]
		if !ok {
			panic(fmt.Sprintf("%v.%s: type %v", owner, f.goName, f.element))
		}
		text.WriteString(scalar)
	}
	switch {
	case f.inline:
		text.WriteString("<")
	case f.pointer:
		text.WriteString("?")
	}
	switch {
	case f.inline:
	case f.omitZero && (f.pointer || f.repeated || f.isMap || !isStruct):
		if !f.omitEmpty {
			panic(fmt.Sprintf("%v.%s: omitzero alone", owner, f.goName))
		}
	case f.omitZero:
		text.WriteString("~")
	case isStruct && !f.pointer && !f.repeated && !f.isMap:
		// A struct that is not a pointer is never empty for Go.
	case !f.omitEmpty:
		text.WriteString("!")
	}
	name := f.jsonName
	if f.inline {
		name = f.goName
	}
	if name == "-" {
		name = f.goName
	}
	if name == f.goName && f.jsonName == "-" && special[owner] == "" {
		panic(fmt.Sprintf("%v.%s: not in JSON", owner, f.goName))
	}
	text.WriteString(":" + name)
	if strings.ToUpper(name[:1])+name[1:] != f.goName {
		text.WriteString("=" + f.goName)
	}
	return text.String()
}

func (t *table) line(m *message) string {
	var text strings.Builder
	if m.isKind {
		text.WriteString("+")
	}
	if name, ok := special[m.goType]; ok {
		text.WriteString("@" + name + " ")
	}
	if substitute, ok := substitutes[m.goType]; ok {
		return text.String() + strings.ReplaceAll(substitute, "!", "!:")
	}
	text.WriteString(m.goType.Name())
	if m.goType.Kind() != reflect.Struct {
		if m.goType.Elem().Kind() != reflect.String {
			panic(fmt.Sprintf("%v: a list that is not of strings", m.goType))
		}
		return "@items " + text.String() + " *s:items"
	}
	if special[m.goType] == "" {
		if _, ok := reflect.New(m.goType).Interface().(interface{ MarshalJSON() ([]byte, error) }); ok {
			panic(fmt.Sprintf("%v has a MarshalJSON of its own", m.goType))
		}
	}
	previous := 0
	for _, f := range fieldsOf(m.goType) {
		text.WriteString(" " + t.token(m.goType, f, previous))
		previous = f.number
	}
	return text.String()
}

// writeTable writes the messages of all kinds, one a line, below a line for each group version.
func writeTable(out io.Writer) {
	t := &table{messages: map[reflect.Type]*message{}}
	t.add(reflect.TypeOf(runtime.Unknown{}), false)
	t.add(reflect.TypeOf(runtime.TypeMeta{}), false)
	sections := []string{"#"}
	starts := []int{0}
	for _, each := range groupVersions() {
		sections = append(sections, "#"+each.gv.String())
		starts = append(starts, len(t.order))
		for _, name := range each.kinds {
			t.add(each.types[name], true)
		}
	}
	for ref, each := range t.order {
		each.ref = ref
	}
	for section, head := range sections {
		end := len(t.order)
		if section+1 < len(starts) {
			end = starts[section+1]
		}
		fmt.Fprintln(out, head)
		for _, each := range t.order[starts[section]:end] {
			fmt.Fprintln(out, t.line(each))
		}
	}
}
