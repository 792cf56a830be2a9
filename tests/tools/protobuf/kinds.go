package main

import (
	"reflect"
	"slices"
	"sort"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type groupVersion struct {
	gv    schema.GroupVersion
	kinds []string
	types map[string]reflect.Type
}

// metaKinds are registered for every group version; here they are once, at meta.k8s.io/v1.
var metaKinds = []string{"DeleteOptions", "Status"}

// groupVersions returns the kinds that a default kube-apiserver serves. Lists are left out, because no request has one as
// its body.
func groupVersions() []groupVersion {
	meta := groupVersion{gv: metav1.SchemeGroupVersion, kinds: metaKinds, types: map[string]reflect.Type{
		"DeleteOptions": reflect.TypeOf(metav1.DeleteOptions{}),
		"Status":        reflect.TypeOf(metav1.Status{}),
	}}
	result := []groupVersion{meta}
	scheme := newScheme()
	for _, gv := range scheme.PrioritizedVersionsAllGroups() {
		each := groupVersion{gv: gv, types: map[string]reflect.Type{}}
		for name, goType := range scheme.KnownTypes(gv) {
			if isOwn(name, goType) {
				each.kinds = append(each.kinds, name)
				each.types[name] = goType
			}
		}
		sort.Strings(each.kinds)
		result = append(result, each)
	}
	sort.Slice(result, func(i, j int) bool { return order(result[i].gv) < order(result[j].gv) })
	return result
}

// order puts the messages that others refer to first.
func order(gv schema.GroupVersion) string {
	switch gv.Group {
	case metav1.GroupName:
		return "0"
	case corev1.GroupName:
		return "1"
	}
	return "2" + gv.String()
}

// unserved has kinds that no request has as its body.
var unserved = []string{"ConversionReview", "PodStatusResult", "RangeAllocation", "SerializedReference"}

func isOwn(name string, goType reflect.Type) bool {
	if strings.HasSuffix(goType.PkgPath(), "/meta/v1") || strings.HasSuffix(name, "Options") {
		return false
	}
	_, isList := goType.FieldByName("Items")
	return !isList && !slices.Contains(unserved, name)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme,
		apiextensionsv1.AddToScheme,
		apiregistrationv1.AddToScheme,
		appsv1.AddToScheme,
		authenticationv1.AddToScheme,
		authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme,
		autoscalingv2.AddToScheme,
		batchv1.AddToScheme,
		certificatesv1.AddToScheme,
		coordinationv1.AddToScheme,
		corev1.AddToScheme,
		discoveryv1.AddToScheme,
		eventsv1.AddToScheme,
		flowcontrolv1.AddToScheme,
		networkingv1.AddToScheme,
		nodev1.AddToScheme,
		policyv1.AddToScheme,
		rbacv1.AddToScheme,
		resourcev1.AddToScheme,
		schedulingv1.AddToScheme,
		storagev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}
