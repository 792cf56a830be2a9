package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// journal collects the events of an informer.
type journal struct {
	mutex   sync.Mutex
	entries []string
}

func (j *journal) add(format string, values ...any) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.entries = append(j.entries, fmt.Sprintf(format, values...))
}

func (j *journal) all() []string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return append([]string{}, j.entries...)
}

func name(object any) string {
	if deleted, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = deleted.Obj
	}
	return object.(metav1.Object).GetName()
}

func (j *journal) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { j.add("add %s", name(object)) },
		UpdateFunc: func(_, object any) { j.add("update %s", name(object)) },
		DeleteFunc: func(object any) { j.add("delete %s", name(object)) },
	}
}

func (p *program) informers() {
	ctx, cancel := context.WithCancel(p.ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(namespace))
	maps := factory.Core().V1().ConfigMaps()
	deployments := factory.Apps().V1().Deployments()
	journal := &journal{}
	handling := must(maps.Informer().AddEventHandler(journal.handler()))
	deploymentLister := deployments.Lister()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			panic("no sync of " + kind.String())
		}
	}
	listed := []string{}
	for _, each := range must(maps.Lister().ConfigMaps(namespace).List(labels.SelectorFromSet(labels.Set{"list": "yes"}))) {
		listed = append(listed, each.Name)
	}
	show("lister", sorted(listed))
	found := must(deploymentLister.Deployments(namespace).Get("web"))
	fmt.Printf("cached deployment: %d %s\n", *found.Spec.Replicas, found.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu())
	p.eventually("the first events", handling.HasSynced)
	before := len(journal.all())
	client := p.client.CoreV1().ConfigMaps(namespace)
	must(client.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: meta("informed")}, metav1.CreateOptions{}))
	must(client.Update(p.ctx, &corev1.ConfigMap{ObjectMeta: meta("informed"), Data: map[string]string{"a": "b"}}, metav1.UpdateOptions{}))
	check(client.Delete(p.ctx, "informed", metav1.DeleteOptions{}))
	p.eventually("events of informers", func() bool { return len(journal.all()) >= before+3 })
	show("journal", journal.all()[before:])
	_, err := maps.Lister().ConfigMaps(namespace).Get("informed")
	showError("lister after the deletion", err)
	cancel()
	factory.Shutdown()
}

func (p *program) events() {
	broadcaster := record.NewBroadcaster(record.WithContext(p.ctx))
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: p.client.CoreV1().Events(namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "client_go"})
	object := must(p.client.CoreV1().ConfigMaps(namespace).Get(p.ctx, "first", metav1.GetOptions{}))
	for range 3 {
		recorder.Eventf(object, corev1.EventTypeNormal, "Tested", "tested %s", object.Name)
	}
	var events []corev1.Event
	p.eventually("three events", func() bool {
		events = must(p.client.CoreV1().Events(namespace).List(p.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=first,reason=Tested"})).Items
		return len(events) == 1 && events[0].Count == 3
	})
	broadcaster.Shutdown()
	event := events[0]
	fmt.Printf("%s %s %s %q %d %s\n", event.Type, event.Reason, event.InvolvedObject.Kind, event.Message, event.Count, event.Source.Component)
	newer := must(p.client.EventsV1().Events(namespace).Get(p.ctx, event.Name, metav1.GetOptions{}))
	fmt.Printf("%s %s %q %d %s\n", newer.Type, newer.Regarding.Name, newer.Note, newer.DeprecatedCount, newer.DeprecatedSource.Component)
}

func (p *program) leaderElection() {
	ctx, cancel := context.WithCancel(p.ctx)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
		Client:     p.client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: "one"},
	}
	led := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 50 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { close(led) },
				OnStoppedLeading: func() {},
			},
		})
	}()
	<-led
	leases := p.client.CoordinationV1().Leases(namespace)
	first := must(leases.Get(p.ctx, "leader", metav1.GetOptions{}))
	fmt.Printf("held by %s, %d s, %d transitions\n", *first.Spec.HolderIdentity, *first.Spec.LeaseDurationSeconds, *first.Spec.LeaseTransitions)
	p.eventually("a renewal", func() bool {
		return must(leases.Get(p.ctx, "leader", metav1.GetOptions{})).Spec.RenewTime.After(first.Spec.RenewTime.Time)
	})
	cancel()
	<-ended
	released := must(leases.Get(p.ctx, "leader", metav1.GetOptions{}))
	fmt.Printf("released: held by %q\n", *released.Spec.HolderIdentity)
}

var widgets = schema.GroupVersionResource{Group: "go-clients.example.com", Version: "v1", Resource: "widgets"}

func (p *program) dynamic() {
	definitions := apiextensions.NewForConfigOrDie(p.config).ApiextensionsV1().CustomResourceDefinitions()
	maximum := 5.0
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: widgets.Resource + "." + widgets.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgets.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"size": {Type: "integer", Maximum: &maximum, Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
						}},
						"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"ready": {Type: "boolean"}}},
					},
				}},
			}},
		},
	}
	must(definitions.Create(p.ctx, definition, metav1.CreateOptions{}))
	p.eventually("the definition", func() bool {
		for _, condition := range must(definitions.Get(p.ctx, definition.Name, metav1.GetOptions{})).Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	})
	client := dynamic.NewForConfigOrDie(p.config)
	objects := client.Resource(widgets).Namespace(namespace)
	widget := func(name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": widgets.GroupVersion().String(), "kind": "Widget",
			"metadata": map[string]any{"name": name}, "spec": spec,
		}}
	}
	p.eventually("the kind", func() bool {
		_, err := objects.List(p.ctx, metav1.ListOptions{})
		return err == nil
	})
	showObject("create", must(objects.Create(p.ctx, widget("a", map[string]any{}), metav1.CreateOptions{})))
	_, err := objects.Create(p.ctx, widget("b", map[string]any{"size": int64(9)}), metav1.CreateOptions{})
	showError("invalid", err)
	_, err = objects.Create(p.ctx, widget("b", map[string]any{"none": int64(9)}), metav1.CreateOptions{FieldValidation: "Strict"})
	showError("strict", err)
	status := must(objects.Get(p.ctx, "a", metav1.GetOptions{}))
	status.Object["status"] = map[string]any{"ready": true}
	showObject("status", must(objects.UpdateStatus(p.ctx, status, metav1.UpdateOptions{})))
	showObject("apply", must(objects.Apply(p.ctx, "a", widget("a", map[string]any{"size": int64(3)}), metav1.ApplyOptions{FieldManager: "applier", Force: true})))
	showObject("patch", must(objects.Patch(p.ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{})))
	_, err = objects.Patch(p.ctx, "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	showError("strategic patch", err)
	ctx, cancel := context.WithCancel(p.ctx)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	informer := factory.ForResource(widgets).Informer()
	journal := &journal{}
	must(informer.AddEventHandler(journal.handler()))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	p.eventually("the first event", func() bool { return len(journal.all()) == 1 })
	check(objects.Delete(p.ctx, "a", metav1.DeleteOptions{}))
	p.eventually("the deletion", func() bool { return len(journal.all()) == 2 })
	show("journal", journal.all())
	cancel()
	factory.Shutdown()
	deployments := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(namespace)
	web := must(deployments.Get(p.ctx, "web", metav1.GetOptions{}))
	replicas, _, err := unstructured.NestedInt64(web.Object, "spec", "replicas")
	check(err)
	fmt.Printf("dynamic deployment: %s %d\n", web.GetKind(), replicas)
}

func (p *program) metadata() {
	client := metadata.NewForConfigOrDie(p.config)
	maps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace)
	list := must(maps.List(p.ctx, metav1.ListOptions{LabelSelector: "list=yes"}))
	for _, item := range list.Items {
		// The apiVersion and the kind of an item are set by JSON answers only.
		fmt.Printf("%s %v\n", item.Name, item.Labels)
	}
	patched := must(maps.Patch(p.ctx, "l1", types.MergePatchType, []byte(`{"metadata":{"labels":{"meta":"yes"}}}`), metav1.PatchOptions{}))
	fmt.Printf("%s %v\n", patched.Name, patched.Labels)
	uid := types.UID("wrong")
	showReason("precondition", maps.Delete(p.ctx, "l1", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}))
	check(maps.Delete(p.ctx, "l1", metav1.DeleteOptions{}))
	objects := client.Resource(widgets).Namespace(namespace)
	check(objects.DeleteCollection(p.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	ctx, cancel := context.WithCancel(p.ctx)
	watcher := must(maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=l2"}))
	event := <-watcher.ResultChan()
	fmt.Printf("%s %s\n", event.Type, event.Object.(*metav1.PartialObjectMetadata).Name)
	watcher.Stop()
	cancel()
}

func (p *program) discovery() {
	version := must(p.client.Discovery().ServerVersion())
	fmt.Printf("version: %s.%s\n", version.Major, version.Minor)
	cached := memory.NewMemCacheClient(p.client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	for _, kind := range []schema.GroupKind{{Kind: "Pod"}, {Group: "apps", Kind: "Deployment"}, {Group: widgets.Group, Kind: "Widget"}} {
		mapping := must(mapper.RESTMapping(kind))
		fmt.Printf("%s: %s %s\n", kind, mapping.Resource, mapping.Scope.Name())
	}
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "none", Kind: "None"})
	fmt.Println(err)
	expanded := restmapper.NewShortcutExpander(mapper, cached, nil)
	fmt.Println(must(expanded.ResourceFor(schema.GroupVersionResource{Resource: "deploy"})))
	for _, resource := range must(p.client.Discovery().ServerResourcesForGroupVersion("apps/v1")).APIResources {
		fmt.Printf("%s %s %v %v\n", resource.Name, resource.Kind, resource.Namespaced, resource.Verbs)
	}
}

func (p *program) deletions() {
	maps := p.client.CoreV1().ConfigMaps(namespace)
	check(maps.DeleteCollection(p.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "list=yes"}))
	show("left", names(must(maps.List(p.ctx, metav1.ListOptions{LabelSelector: "list"})).Items))
	held := must(maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"x.io/hold"}}}, metav1.CreateOptions{}))
	foreground := metav1.DeletePropagationForeground
	check(maps.Delete(p.ctx, held.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	held = must(maps.Get(p.ctx, held.Name, metav1.GetOptions{}))
	showObject("held", held)
	held.Finalizers = nil
	must(maps.Update(p.ctx, held, metav1.UpdateOptions{}))
	_, err := maps.Get(p.ctx, held.Name, metav1.GetOptions{})
	showError("released", err)
	zero := int64(0)
	check(p.client.CoreV1().Pods(namespace).Delete(p.ctx, "pod", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	showError("delete none", maps.Delete(p.ctx, "none", metav1.DeleteOptions{}))
	version := "1"
	showError("old version", func() error {
		err := maps.Delete(p.ctx, "first", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
		if errors.IsConflict(err) {
			return nil
		}
		return fmt.Errorf("no conflict: %w", err)
	}())
	check(apiextensions.NewForConfigOrDie(p.config).ApiextensionsV1().CustomResourceDefinitions().Delete(p.ctx, widgets.Resource+"."+widgets.Group, metav1.DeleteOptions{}))
	check(p.client.CoreV1().Namespaces().Delete(p.ctx, namespace, metav1.DeleteOptions{}))
}
