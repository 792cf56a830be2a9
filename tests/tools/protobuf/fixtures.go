package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

const (
	objectsPerKind = 40
	// attemptsPerKind is how many objects are tried, to find some for every field.
	attemptsPerKind  = 4000
	maxBytes         = 3000
	mutationsPerKind = 130
	// jsonEvery is how many mutated bodies that Go still decodes come with their JSON once.
	jsonEvery = 8
)

type body interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// writeFixtures writes random objects of every kind: parts that begin with their length as a varint. An
// object is its apiVersion, its kind, its protobuf and its JSON. Then come, after an empty part, the results of mutated
// objects: an error, JSON, or nothing if Go decodes it. The test makes the same mutations.
func writeFixtures(out io.Writer) {
	source := rand.New(rand.NewSource(1))
	filler := newFiller(source)
	var objects [][]byte
	var types []reflect.Type
	seen := coverage{}
	for _, each := range groupVersions() {
		for _, kind := range each.kinds {
			goType := each.types[kind]
			for _, object := range examples(filler, goType, seen) {
				raw, err := object.Marshal()
				check(err)
				text, err := jsonOf(goType, raw)
				check(err)
				objects = append(objects, raw)
				types = append(types, goType)
				for _, part := range [][]byte{[]byte(each.gv.String()), []byte(kind), raw, text} {
					writePart(out, part)
				}
			}
		}
	}
	writePart(out, nil)
	numbers := sequence(1)
	for i := range objects {
		if i%objectsPerKind == 0 {
			writeMutations(out, &numbers, objects, types[i], i)
		}
	}
}

func writePart(out io.Writer, part []byte) {
	_, err := out.Write(append(binary.AppendUvarint(nil, uint64(len(part))), part...))
	check(err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// coverage has the fields that an object has set, as type and field name.
type coverage map[string]bool

// examples returns random objects of a kind: first those that set fields which no object before has set.
func examples(filler *randfill.Filler, goType reflect.Type, seen coverage) []body {
	var result, rest []body
	for attempt := 0; attempt < attemptsPerKind; attempt++ {
		object := reflect.New(goType).Interface().(body)
		filler.Fill(object)
		if raw, err := object.Marshal(); err != nil || len(raw) > maxBytes {
			continue
		}
		if len(result) < objectsPerKind && seen.add(reflect.ValueOf(object)) {
			result = append(result, object)
		} else if len(rest) < objectsPerKind {
			rest = append(rest, object)
		}
	}
	return append(result, rest[:objectsPerKind-len(result)]...)
}

// add returns whether a value has a field that is new.
func (c coverage) add(value reflect.Value) bool {
	isNew := false
	switch value.Kind() {
	case reflect.Pointer:
		return !value.IsNil() && c.add(value.Elem())
	case reflect.Slice:
		if isMessage(value.Type()) && value.Len() > 0 {
			isNew = c.mark(value.Type(), "Items")
		}
		for i := 0; i < value.Len(); i++ {
			isNew = c.add(value.Index(i)) || isNew
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			isNew = c.add(value.MapIndex(key)) || isNew
		}
	case reflect.Struct:
		for _, f := range fieldsOf(value.Type()) {
			field := value.FieldByName(f.goName)
			isNew = isSet(field) && c.mark(value.Type(), f.goName) || isNew
			isNew = c.add(field) || isNew
		}
	}
	return isNew
}

func (c coverage) mark(goType reflect.Type, field string) bool {
	name := goType.PkgPath() + "." + goType.Name() + "." + field
	isNew := !c[name]
	c[name] = true
	return isNew
}

func isSet(value reflect.Value) bool {
	if kind := value.Kind(); kind == reflect.Slice || kind == reflect.Map {
		return value.Len() > 0
	}
	return !value.IsZero()
}

func jsonOf(goType reflect.Type, raw []byte) ([]byte, error) {
	object := reflect.New(goType).Interface()
	if err := object.(body).Unmarshal(raw); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return nil, fmt.Errorf("JSON: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// sequence is a source of numbers that the test repeats.
type sequence uint32

func (s *sequence) next(limit int) int {
	*s = *s*1664525 + 1013904223
	return int(uint32(*s)>>8) % limit
}

func writeMutations(out io.Writer, source *sequence, objects [][]byte, goType reflect.Type, first int) {
	for n := 0; n < mutationsPerKind; n++ {
		raw := bytes.Clone(objects[first+source.next(objectsPerKind)])
		operation := source.next(len(mutations))
		at := source.next(len(raw) + 1)
		value := byte(source.next(256))
		if at == len(raw) {
			raw = append(raw, 0)
		}
		mutated := mutations[operation](raw, at, value)
		text, err := jsonOf(goType, mutated)
		result := ""
		switch {
		case err != nil:
			result = err.Error()
		case n%jsonEvery == 0:
			result = string(text)
		}
		writePart(out, []byte(result))
	}
}

// mutations are repeated in tests/apiserver/protobuf_fixtures.ts, in the same order.
var mutations = []func(raw []byte, at int, value byte) []byte{
	func(raw []byte, at int, value byte) []byte { raw[at] = value; return raw },
	func(raw []byte, at int, value byte) []byte { raw[at] ^= 1 << (value & 7); return raw },
	func(raw []byte, at int, _ byte) []byte { return raw[:at] },
	func(raw []byte, at int, _ byte) []byte { return append(raw[:at], raw[at+1:]...) },
	func(raw []byte, at int, value byte) []byte {
		return append(append(bytes.Clone(raw[:at]), value), raw[at:]...)
	},
	// A varint of ten bytes: a negative or overflowing length.
	func(raw []byte, at int, value byte) []byte {
		varint := append(bytes.Repeat([]byte{0xff}, 9), value)
		return append(append(bytes.Clone(raw[:at]), varint...), raw[at:]...)
	},
	// The end once more: fields occur twice.
	func(raw []byte, at int, _ byte) []byte { return append(bytes.Clone(raw), raw[at:]...) },
	func(raw []byte, _ int, _ byte) []byte { return append(bytes.Clone(raw), raw...) },
	// An unknown field of each wire type, a group, and field 0.
	func(raw []byte, _ int, value byte) []byte {
		return append(raw, 0xf8|value&7, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0)
	},
	func(raw []byte, _ int, value byte) []byte {
		return append(raw, 0xfb, 0x3f, 0xfb, 0x3f, 0xfc, 0x3f, 0xfc, value)
	},
	func(raw []byte, _ int, value byte) []byte { return append(raw, value&7) },
}

func newFiller(source *rand.Rand) *randfill.Filler {
	words := []string{"", "a", "web", "main", "kube-system", "Ω≈ç", "a\"b\\c\n", "<&>\u2028", "日本", "😀", "true", "1"}
	schemaDepth := 0
	return randfill.New().RandSource(source).NilChance(0.75).NumElements(0, 2).MaxDepth(14).Funcs(
		func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		func(b *[]byte, c randfill.Continue) { *b = []byte(words[c.Intn(len(words))])[:] },
		func(n *int32, c randfill.Continue) { *n = []int32{0, 0, 1, 80, -1, 1<<31 - 1, -1 << 31}[c.Intn(7)] },
		func(n *int64, c randfill.Continue) {
			*n = []int64{0, 0, 1, 300, -1, 1 << 40, -1 << 40, 1<<53 + 1, 1<<63 - 1, -1 << 63}[c.Intn(10)]
		},
		func(n *float64, c randfill.Continue) {
			*n = []float64{0, 1, -2.5, 1e21, 1e-7, 123456789.125}[c.Intn(6)]
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.NewTime(randomTime(c)) },
		func(t *metav1.MicroTime, c randfill.Continue) { *t = metav1.NewMicroTime(randomTime(c)) },
		func(d *metav1.Duration, c randfill.Continue) {
			d.Duration = []time.Duration{0, 1, -1, 1500, 90 * time.Second, 25 * time.Hour, -36 * time.Minute,
				1<<63 - 1, -1 << 63, 1_500_000, 2 * time.Microsecond}[c.Intn(11)]
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "100m", "1Gi", "1500m", "2e3", "1536Mi", "5n", "-3", "0.5", "12E"}[c.Intn(11)])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if c.Bool() {
				*v = intstr.FromInt32(int32(c.Intn(3) * 8080))
			} else {
				*v = intstr.FromString(words[c.Intn(len(words))])
			}
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			// Metadata is in every object, and in templates: fill it seldom.
			if c.Intn(10) == 0 {
				c.FillNoCustom(m)
			} else {
				m.Name = words[c.Intn(len(words))]
			}
		},
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = randomJSON(c, true) },
		func(r *metav1.FieldsV1, c randfill.Continue) {
			*r = metav1.FieldsV1{}
			r.SetRawBytes(randomJSON(c, true))
		},
		func(r *apiextensionsv1.JSON, c randfill.Continue) { r.Raw = randomJSON(c, false) },
		func(s *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
			schemaDepth++
			defer func() { schemaDepth-- }()
			if schemaDepth > 3 || schemaDepth > 1 && c.Intn(3) > 0 {
				*s = apiextensionsv1.JSONSchemaProps{Type: "string", Nullable: c.Bool()}
				return
			}
			c.FillNoCustom(s)
		},
		func(s *apiextensionsv1.JSONSchemaPropsOrArray, c randfill.Continue) {
			schema := apiextensionsv1.JSONSchemaProps{}
			c.Fill(&schema)
			if c.Bool() {
				s.Schema = &schema
			} else {
				s.JSONSchemas = []apiextensionsv1.JSONSchemaProps{schema}
			}
		},
		func(s *apiextensionsv1.JSONSchemaPropsOrBool, c randfill.Continue) {
			s.Allows = c.Bool()
			if c.Bool() {
				s.Allows = true
				s.Schema = &apiextensionsv1.JSONSchemaProps{}
				c.Fill(s.Schema)
			}
		},
		func(s *apiextensionsv1.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			if c.Bool() {
				s.Property = []string{words[c.Intn(len(words))]}
			} else {
				s.Schema = &apiextensionsv1.JSONSchemaProps{}
				c.Fill(s.Schema)
			}
		},
	)
}

func randomTime(c randfill.Continue) time.Time {
	switch c.Intn(4) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(0, 0)
	}
	return time.Unix(c.Int63n(4_000_000_000), c.Int63n(1_000_000)*1000)
}

func randomJSON(c randfill.Continue, isObject bool) []byte {
	texts := []string{`{}`, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`, `{"a":[1,2.5,"x",null,true]}`, `"text"`, `[1]`, `0`, `null`}
	if isObject {
		texts = texts[:3]
	}
	return []byte(texts[c.Intn(len(texts))])
}
