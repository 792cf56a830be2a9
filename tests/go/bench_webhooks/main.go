// Command webhookbench serves the admission of works/webhooks.ts with controller-runtime: typed objects, decoded,
// defaulted and validated.
package main

import (
	"context"
	"flag"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var version = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

// Site is the kind of works/webhooks.ts.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec `json:"spec"`
}

type SiteSpec struct {
	Hosts  []string `json:"hosts"`
	Issuer string   `json:"issuer,omitempty"`
	Routes []Route  `json:"routes"`
}

type Route struct {
	Path    string  `json:"path"`
	Backend Backend `json:"backend"`
}

type Backend struct {
	Service string `json:"service"`
	Port    int32  `json:"port"`
}

// DeepCopyObject is what controller-gen writes.
func (s *Site) DeepCopyObject() runtime.Object {
	out := new(Site)
	out.TypeMeta = s.TypeMeta
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Issuer = s.Spec.Issuer
	out.Spec.Hosts = append([]string(nil), s.Spec.Hosts...)
	out.Spec.Routes = append([]Route(nil), s.Spec.Routes...)
	return out
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, site *Site) error {
	for i, host := range site.Spec.Hosts {
		site.Spec.Hosts[i] = strings.ToLower(host)
	}
	if site.Spec.Issuer == "" {
		site.Spec.Issuer = "letsencrypt"
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, site *Site) (admission.Warnings, error) {
	return nil, validate(site)
}

func (validator) ValidateUpdate(_ context.Context, _, site *Site) (admission.Warnings, error) {
	return nil, validate(site)
}

func (validator) ValidateDelete(context.Context, *Site) (admission.Warnings, error) {
	return nil, nil
}

func validate(site *Site) error {
	var problems field.ErrorList
	for i, host := range site.Spec.Hosts {
		if strings.Contains(host, "_") {
			at := field.NewPath("spec", "hosts").Index(i)
			problems = append(problems, field.Invalid(at, host, fmt.Sprintf("%q has an underscore", host)))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(version.WithKind("Site").GroupKind(), site.Name, problems)
}

func main() {
	port := flag.Int("port", 0, "")
	certs := flag.String("certs", "", "the folder with tls.crt and tls.key")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, &Site{})
	metav1.AddToGroupVersion(scheme, version)
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certs})
	server.Register("/mutate-bench-example-com-v1-site", admission.WithDefaulter(scheme, defaulter{}))
	server.Register("/validate-bench-example-com-v1-site", admission.WithValidator(scheme, validator{}))
	if err := server.Start(ctx); err != nil {
		panic(err)
	}
}
