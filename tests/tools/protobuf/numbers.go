package main

import (
	"fmt"
	"io"
	"path"
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

// special has the types whose JSON is not that of their fields; lib/apiserver/wire/protobuf/special.ts converts them.
var special = map[reflect.Type]bool{
	reflect.TypeOf(resource.Quantity{}):                            true,
	reflect.TypeOf(intstr.IntOrString{}):                           true,
	reflect.TypeOf(metav1.Time{}):                                  true,
	reflect.TypeOf(metav1.MicroTime{}):                             true,
	reflect.TypeOf(metav1.FieldsV1{}):                              true,
	reflect.TypeOf(runtime.RawExtension{}):                         true,
	reflect.TypeOf(apiextensionsv1.JSON{}):                         true,
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrArray{}):       true,
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrBool{}):        true,
	reflect.TypeOf(apiextensionsv1.JSONSchemaPropsOrStringArray{}): true,
}

// field is one field of a message: what is on the wire, and its JSON.
type field struct {
	number   int
	goName   string
	jsonName string
	inline   bool
	// element is the type without pointer, list or map.
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
		number, err := strconv.Atoi(strings.Split(tag, ",")[1])
		if err != nil {
			panic(fmt.Sprintf("%v.%s: tag %q", goType, structField.Name, tag))
		}
		result = append(result, fieldOf(structField, number))
	}
	sort.Slice(result, func(i, j int) bool { return result[i].number < result[j].number })
	return result
}

func fieldOf(structField reflect.StructField, number int) field {
	name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
	// Go inlines embedded structs without a name, with or without the option.
	f := field{number: number, goName: structField.Name, jsonName: name, inline: name == "" && structField.Anonymous}
	f.element = structField.Type
	if f.element.Kind() == reflect.Pointer {
		f.element = f.element.Elem()
	}
	if kind := f.element.Kind(); !isMessage(f.element) && (kind == reflect.Map || kind == reflect.Slice) {
		f.element = f.element.Elem()
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

// writeNumbers writes a line for each field in JSON: its definition in OpenAPI, its name, and its number in protobuf. The
// numbers and the names of the messages that it is in come before those of a field of an embedded struct.
func writeNumbers(out io.Writer) {
	seen := map[reflect.Type]bool{}
	for _, each := range groupVersions() {
		for _, name := range each.kinds {
			writeType(out, each.types[name], seen)
		}
	}
}

func writeType(out io.Writer, goType reflect.Type, seen map[reflect.Type]bool) {
	if special[goType] || seen[goType] || goType.Kind() != reflect.Struct {
		return
	}
	seen[goType] = true
	folder, version := path.Split(goType.PkgPath())
	writeFields(out, path.Base(folder)+"."+version+"."+goType.Name()+"/", "", goType)
	for _, each := range fieldsOf(goType) {
		writeType(out, each.element, seen)
	}
}

func writeFields(out io.Writer, definition, prefix string, goType reflect.Type) {
	for _, each := range fieldsOf(goType) {
		number := prefix + strconv.Itoa(each.number)
		if each.inline {
			writeFields(out, definition, number+each.element.Name()+".", each.element)
		} else {
			fmt.Fprintln(out, definition+each.jsonName, number)
		}
	}
}
