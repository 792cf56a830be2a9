// Command controller_runtime runs a manager with a controller, and uses controller-runtime's client and cache. It prints
// what the API server answers without what differs between runs.
//
//	controller_runtime KUBECONFIG
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	namespace = "go-controllers"
	finalizer = "go-controllers.example.com/cleanup"
	timeout   = 30 * time.Second
)

var ctx context.Context

func main() {
	log.SetLogger(logr.Discard())
	bounded, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ctx = bounded
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS = -1
	config.UserAgent = "controller_runtime/1"
	direct := must(client.New(config, client.Options{}))
	fmt.Println("# client")
	useClient(direct)
	fmt.Println("# manager")
	manager := must(ctrl.NewManager(config, ctrl.Options{
		Metrics:                       server.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:                true,
		LeaderElectionID:              "controller",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	}))
	useManager(manager, direct)
	check(direct.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func showError(label string, err error) {
	if err == nil {
		fmt.Printf("%s: no error\n", label)
		return
	}
	fmt.Printf("%s: %s: %s\n", label, errors.ReasonForError(err), err)
}

func show(label string, value any) {
	fmt.Printf("%s: %s\n", label, must(json.Marshal(value)))
}

func eventually(what string, condition func() bool) {
	for !condition() {
		select {
		case <-ctx.Done():
			panic("timed out waiting for " + what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"kind": "test"}}, Data: data}
}

func deployment(name string) *appsv1.Deployment {
	replicas := int32(2)
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
			},
		},
	}
}

func useClient(c client.Client) {
	check(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	first := configMap("first", map[string]string{"a": "b"})
	check(c.Create(ctx, first))
	fmt.Printf("created: uid %v, version %v\n", first.UID != "", first.ResourceVersion != "")
	showError("create again", c.Create(ctx, configMap("first", nil)))
	showError("get none", c.Get(ctx, key("none"), &corev1.ConfigMap{}))
	stale := first.DeepCopy()
	first.Data["c"] = "d"
	check(c.Update(ctx, first))
	showError("stale update", c.Update(ctx, stale))
	merged := first.DeepCopy()
	merged.Data["e"] = "f"
	delete(merged.Data, "a")
	check(c.Patch(ctx, merged, client.MergeFrom(first)))
	show("merged", merged.Data)
	locked := stale.DeepCopy()
	locked.Data["g"] = "h"
	showError("locked patch", c.Patch(ctx, locked, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{})))
	check(c.Apply(ctx, coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1"}), client.FieldOwner("one"), client.ForceOwnership))
	showError("conflict", c.Apply(ctx, coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "2"}), client.FieldOwner("two")))
	web := deployment("web")
	check(c.Create(ctx, web))
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	check(c.SubResource("scale").Update(ctx, web, client.WithSubResourceBody(scale)))
	scale = &autoscalingv1.Scale{}
	check(c.SubResource("scale").Get(ctx, web, scale))
	fmt.Printf("scale: %d %s\n", scale.Spec.Replicas, scale.Status.Selector)
	check(c.Get(ctx, key("web"), web))
	web.Status.Replicas = 4
	web.Labels["ignored"] = "by status"
	check(c.Status().Update(ctx, web))
	fmt.Printf("status: %d %v generation %d\n", web.Status.Replicas, web.Labels, web.Generation)
	patched := web.DeepCopy()
	patched.Status.ReadyReplicas = 3
	check(c.Status().Patch(ctx, patched, client.MergeFrom(web)))
	fmt.Printf("status patch: %d %d\n", patched.Status.Replicas, patched.Status.ReadyReplicas)
	result := must(controllerutil.CreateOrUpdate(ctx, c, patched, func() error {
		patched.Spec.MinReadySeconds = 5
		return nil
	}))
	fmt.Printf("create or update: %s\n", result)
	list := &corev1.ConfigMapList{}
	check(c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"kind": "test"}))
	show("list", names(list))
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	check(c.Get(ctx, key("web"), partial))
	fmt.Printf("metadata: %s %v\n", partial.Name, partial.Labels)
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	check(c.Get(ctx, key("first"), object))
	show("unstructured", object.Object["data"])
	check(c.Delete(ctx, first, client.Preconditions{UID: &first.UID}))
	check(c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace)))
	check(c.List(ctx, list, client.InNamespace(namespace)))
	show("left", names(list))
	check(c.Delete(ctx, web, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	fmt.Println(client.IgnoreNotFound(c.Delete(ctx, web)))
	fmt.Println(must(apiutil.IsObjectNamespaced(&corev1.Namespace{}, scheme.Scheme, c.RESTMapper())))
}

func names(list *corev1.ConfigMapList) []string {
	result := []string{}
	for _, item := range list.Items {
		result = append(result, item.Name)
	}
	slices.Sort(result)
	return result
}

// reconciler keeps a ConfigMap for each Deployment, and its status.
type reconciler struct {
	client.Client
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	web := &appsv1.Deployment{}
	if err := r.Get(ctx, request.NamespacedName, web); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !web.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(web, finalizer)
		return reconcile.Result{}, r.Update(ctx, web)
	}
	if controllerutil.AddFinalizer(web, finalizer) {
		return reconcile.Result{}, r.Update(ctx, web)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: web.Name, Namespace: web.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		owned.Data = map[string]string{"replicas": strconv.Itoa(int(*web.Spec.Replicas))}
		return controllerutil.SetControllerReference(web, owned, scheme.Scheme)
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	if web.Status.ObservedGeneration == web.Generation {
		return reconcile.Result{}, nil
	}
	before := web.DeepCopy()
	web.Status.ObservedGeneration = web.Generation
	return reconcile.Result{}, r.Status().Patch(ctx, web, client.MergeFrom(before))
}

func useManager(manager ctrl.Manager, direct client.Client) {
	ctx, stop := context.WithCancel(ctx)
	check(manager.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, "replicas", func(object client.Object) []string {
		return []string{object.(*corev1.ConfigMap).Data["replicas"]}
	}))
	check(ctrl.NewControllerManagedBy(manager).
		For(&appsv1.Deployment{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
		})).
		Complete(&reconciler{manager.GetClient()}))
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	check(direct.Create(ctx, deployment("app")))
	cached := manager.GetClient()
	owned := &corev1.ConfigMap{}
	eventually("the ConfigMap", func() bool { return cached.Get(ctx, key("app"), owned) == nil })
	reference := owned.OwnerReferences[0]
	fmt.Printf("owned: %v by %s %s %s, controller %v\n", owned.Data, reference.APIVersion, reference.Kind, reference.Name, *reference.Controller)
	web := &appsv1.Deployment{}
	eventually("the status", func() bool {
		return direct.Get(ctx, key("app"), web) == nil && web.Status.ObservedGeneration == web.Generation
	})
	fmt.Printf("finalizers: %v, generation %d\n", web.Finalizers, web.Generation)
	before := web.DeepCopy()
	replicas := int32(7)
	web.Spec.Replicas = &replicas
	check(direct.Patch(ctx, web, client.StrategicMergeFrom(before)))
	list := &corev1.ConfigMapList{}
	eventually("the index", func() bool {
		check(cached.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"replicas": "7"}))
		return len(list.Items) == 1
	})
	show("index", names(list))
	check(direct.Delete(ctx, owned))
	eventually("the ConfigMap again", func() bool {
		again := &corev1.ConfigMap{}
		return direct.Get(ctx, key("app"), again) == nil && again.UID != owned.UID
	})
	eventually("the second status", func() bool {
		return direct.Get(ctx, key("app"), web) == nil && web.Status.ObservedGeneration == web.Generation
	})
	fmt.Printf("generation %d\n", web.Generation)
	showError("cached get of none", cached.Get(ctx, key("none"), &corev1.ConfigMap{}))
	check(direct.Delete(ctx, deployment("app")))
	eventually("the end of the Deployment", func() bool {
		return errors.IsNotFound(direct.Get(ctx, key("app"), web))
	})
	eventually("its end in the cache", func() bool {
		return errors.IsNotFound(cached.Get(ctx, key("app"), web))
	})
	stop()
	showError("manager", <-ended)
}
