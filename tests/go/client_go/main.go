// Command client_go uses an API server through client-go, and prints what it answers without what differs between runs.
//
//	client_go KUBECONFIG
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	autoscalingapply "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

const (
	namespace = "go-clients"
	timeout   = 30 * time.Second
)

type program struct {
	ctx    context.Context
	config *rest.Config
	client kubernetes.Interface
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS = -1
	config.UserAgent = "client_go/1"
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	p := &program{ctx: ctx, config: config, client: kubernetes.NewForConfigOrDie(config)}
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"objects", p.objects},
		{"patches", p.patches},
		{"apply", p.apply},
		{"lists", p.lists},
		{"workloads", p.workloads},
		{"watch", p.watch},
		{"informers", p.informers},
		{"events", p.events},
		{"leader election", p.leaderElection},
		{"dynamic", p.dynamic},
		{"metadata", p.metadata},
		{"discovery", p.discovery},
		{"deletions", p.deletions},
	} {
		fmt.Printf("# %s\n", step.name)
		step.run()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// must returns a value, and panics on an error.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// show prints a value as JSON.
func show(label string, value any) {
	text := must(json.Marshal(value))
	fmt.Printf("%s: %s\n", label, text)
}

// showError prints the class and the text of an error.
func showError(label string, err error) {
	if err == nil {
		fmt.Printf("%s: no error\n", label)
		return
	}
	fmt.Printf("%s: %s: %s\n", label, errors.ReasonForError(err), err)
}

// showObject prints an object without what differs between runs.
func showObject(label string, object metav1.Object) {
	fields := map[string]any{}
	check(json.Unmarshal(must(json.Marshal(object)), &fields))
	metadata := fields["metadata"].(map[string]any)
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
		if _, ok := metadata[name]; ok {
			metadata[name] = "set"
		}
	}
	if entries, ok := metadata["managedFields"].([]any); ok {
		for _, entry := range entries {
			delete(entry.(map[string]any), "time")
		}
	}
	show(label, fields)
}

// showReason prints the class of an error whose text differs between runs.
func showReason(label string, err error) {
	fmt.Printf("%s: %s\n", label, errors.ReasonForError(err))
}

func (p *program) eventually(what string, condition func() bool) {
	for !condition() {
		select {
		case <-p.ctx.Done():
			panic("timed out waiting for " + what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": name}}
}

func (p *program) objects() {
	created := must(p.client.CoreV1().Namespaces().Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))
	showObject("namespace", created)
	_, err := p.client.CoreV1().Namespaces().Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	showError("again", err)
	maps := p.client.CoreV1().ConfigMaps(namespace)
	_, err = maps.Get(p.ctx, "none", metav1.GetOptions{})
	showError("get none", err)
	first := must(maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: meta("first"), Data: map[string]string{"a": "", "b": "Ω"}, BinaryData: map[string][]byte{"c": {0, 255}}}, metav1.CreateOptions{}))
	showObject("create", first)
	showObject("get", must(maps.Get(p.ctx, "first", metav1.GetOptions{})))
	stale := first.DeepCopy()
	first.Data["d"] = "e"
	showObject("update", must(maps.Update(p.ctx, first, metav1.UpdateOptions{})))
	_, err = maps.Update(p.ctx, stale, metav1.UpdateOptions{})
	showError("stale update", err)
	check(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stale.Data["retried"] = "yes"
		_, err := maps.Update(p.ctx, stale, metav1.UpdateOptions{})
		if errors.IsConflict(err) {
			stale = must(maps.Get(p.ctx, "first", metav1.GetOptions{}))
		}
		return err
	}))
	show("retried", must(maps.Get(p.ctx, "first", metav1.GetOptions{})).Data)
	_, err = maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "No_Name"}}, metav1.CreateOptions{})
	showError("invalid name", err)
	_, err = maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "other"}}, metav1.CreateOptions{})
	showError("other namespace", err)
	_, err = p.client.CoreV1().ConfigMaps("none").Create(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	showError("no namespace", err)
	generated := must(maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "gen-"}}, metav1.CreateOptions{}))
	fmt.Printf("generated name: %v\n", strings.HasPrefix(generated.Name, "gen-") && len(generated.Name) == 9)
	dry := must(maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: meta("dry")}, metav1.CreateOptions{DryRun: []string{"All"}}))
	_, err = maps.Get(p.ctx, dry.Name, metav1.GetOptions{})
	showError("after a dry run", err)
	secret := must(p.client.CoreV1().Secrets(namespace).Create(p.ctx, &corev1.Secret{ObjectMeta: meta("secret"), StringData: map[string]string{"a": "b"}, Data: map[string][]byte{"c": {}}}, metav1.CreateOptions{}))
	showObject("secret", secret)
	immutable := true
	fixed := must(maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: meta("fixed"), Immutable: &immutable}, metav1.CreateOptions{}))
	fixed.Data = map[string]string{"a": "b"}
	_, err = maps.Update(p.ctx, fixed, metav1.UpdateOptions{})
	showError("immutable", err)
}

func (p *program) patches() {
	maps := p.client.CoreV1().ConfigMaps(namespace)
	patch := func(label string, patchType types.PatchType, text string) {
		patched, err := maps.Patch(p.ctx, "first", patchType, []byte(text), metav1.PatchOptions{FieldManager: "patcher"})
		if err != nil {
			// Some texts have the whole object.
			showReason(label, err)
			return
		}
		showObject(label, patched)
	}
	patch("merge", types.MergePatchType, `{"data":{"a":null,"m":"1"}}`)
	patch("strategic", types.StrategicMergePatchType, `{"metadata":{"finalizers":["x.io/a"]},"data":{"s":"2"}}`)
	patch("json", types.JSONPatchType, `[{"op":"remove","path":"/metadata/finalizers"},{"op":"add","path":"/data/j","value":"3"}]`)
	patch("json test", types.JSONPatchType, `[{"op":"test","path":"/data/j","value":"4"}]`)
	patch("malformed", types.MergePatchType, `{"data":`)
	patch("wrong type", types.MergePatchType, `{"data":{"a":1}}`)
}

func (p *program) apply() {
	maps := p.client.CoreV1().ConfigMaps(namespace)
	apply := func(label, manager string, force bool, data map[string]string) {
		applied, err := maps.Apply(p.ctx, coreapply.ConfigMap("applied", namespace).WithLabels(map[string]string{"by": manager}).WithData(data), metav1.ApplyOptions{FieldManager: manager, Force: force})
		if err != nil {
			showError(label, err)
			return
		}
		showObject(label, applied)
	}
	apply("apply", "one", false, map[string]string{"a": "1", "b": "1"})
	apply("apply less", "one", false, map[string]string{"a": "1"})
	apply("conflict", "two", false, map[string]string{"a": "2"})
	apply("force", "two", true, map[string]string{"a": "2"})
	extracted := must(coreapply.ExtractConfigMap(must(maps.Get(p.ctx, "applied", metav1.GetOptions{})), "two"))
	show("extracted", extracted)
}

func (p *program) lists() {
	maps := p.client.CoreV1().ConfigMaps(namespace)
	for _, name := range []string{"l1", "l2", "l3", "l4", "l5"} {
		must(maps.Create(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"list": "yes", "n": name}}}, metav1.CreateOptions{}))
	}
	options := metav1.ListOptions{LabelSelector: "list=yes", Limit: 2}
	for {
		page := must(maps.List(p.ctx, options))
		show("page", names(page.Items))
		remaining := int64(-1)
		if page.RemainingItemCount != nil {
			remaining = *page.RemainingItemCount
		}
		fmt.Printf("kind %q, remaining %d\n", page.Kind, remaining)
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	show("in", names(must(maps.List(p.ctx, metav1.ListOptions{LabelSelector: "n in (l1,l5),n!=l5"})).Items))
	show("field", names(must(maps.List(p.ctx, metav1.ListOptions{FieldSelector: "metadata.name=l3"})).Items))
	_, err := maps.List(p.ctx, metav1.ListOptions{LabelSelector: "a=="})
	showError("bad label", err)
	_, err = maps.List(p.ctx, metav1.ListOptions{FieldSelector: "spec.x=1"})
	showError("bad field", err)
}

func names(items []corev1.ConfigMap) []string {
	result := []string{}
	for _, item := range items {
		result = append(result, item.Name)
	}
	return result
}

func deployment(name string) *appsv1.Deployment {
	replicas := int32(2)
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "nginx",
				Ports:         []corev1.ContainerPort{{ContainerPort: 80}},
				Env:           []corev1.EnvVar{{Name: "A", Value: ""}},
				Resources:     corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}},
			}},
		}},
	}}
}

func (p *program) workloads() {
	deployments := p.client.AppsV1().Deployments(namespace)
	showObject("deployment", must(deployments.Create(p.ctx, deployment("web"), metav1.CreateOptions{})))
	scale := must(deployments.GetScale(p.ctx, "web", metav1.GetOptions{}))
	showObject("scale", scale)
	scale.Spec.Replicas = 5
	showObject("scaled", must(deployments.UpdateScale(p.ctx, "web", scale, metav1.UpdateOptions{})))
	scale.Spec.Replicas = 6
	_, err := deployments.UpdateScale(p.ctx, "web", scale, metav1.UpdateOptions{})
	showError("stale scale", err)
	applied := must(deployments.ApplyScale(p.ctx, "web", autoscalingapply.Scale().WithSpec(autoscalingapply.ScaleSpec().WithReplicas(7)), metav1.ApplyOptions{FieldManager: "scaler", Force: true}))
	show("applied scale", applied.Spec)
	_, err = deployments.UpdateScale(p.ctx, "web", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: -1}}, metav1.UpdateOptions{})
	showError("negative scale", err)
	current := must(deployments.Get(p.ctx, "web", metav1.GetOptions{}))
	current.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 7, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "R"}}}
	paused := current.DeepCopy()
	paused.Spec.Paused = true
	showObject("status", must(deployments.UpdateStatus(p.ctx, paused, metav1.UpdateOptions{})))
	wrong := deployment("wrong")
	wrong.Spec.Selector.MatchLabels = map[string]string{"a": "b"}
	_, err = deployments.Create(p.ctx, wrong, metav1.CreateOptions{})
	showError("wrong selector", err)
	service := &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}}}
	showObject("service", must(p.client.CoreV1().Services(namespace).Create(p.ctx, service, metav1.CreateOptions{})))
	pod := &corev1.Pod{ObjectMeta: meta("pod"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}}}
	showObject("pod", must(p.client.CoreV1().Pods(namespace).Create(p.ctx, pod, metav1.CreateOptions{})))
}

func (p *program) watch() {
	maps := p.client.CoreV1().ConfigMaps(namespace)
	start := must(maps.List(p.ctx, metav1.ListOptions{})).ResourceVersion
	watcher := must(maps.Watch(p.ctx, metav1.ListOptions{ResourceVersion: start, LabelSelector: "watched=yes"}))
	defer watcher.Stop()
	labelled := func(value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched", Labels: map[string]string{"watched": value}}}
	}
	must(maps.Create(p.ctx, labelled("no"), metav1.CreateOptions{}))
	must(maps.Update(p.ctx, labelled("yes"), metav1.UpdateOptions{}))
	changed := labelled("yes")
	changed.Data = map[string]string{"a": "b"}
	must(maps.Update(p.ctx, changed, metav1.UpdateOptions{}))
	must(maps.Update(p.ctx, labelled("no"), metav1.UpdateOptions{}))
	must(maps.Update(p.ctx, labelled("yes"), metav1.UpdateOptions{}))
	check(maps.Delete(p.ctx, "watched", metav1.DeleteOptions{}))
	for range 5 {
		event := <-watcher.ResultChan()
		object := event.Object.(*corev1.ConfigMap)
		fmt.Printf("%s %s %v %v\n", event.Type, object.Name, object.Labels, object.Data)
	}
	old := must(maps.Watch(p.ctx, metav1.ListOptions{ResourceVersion: "0", FieldSelector: "metadata.name=first", AllowWatchBookmarks: true}))
	defer old.Stop()
	event := <-old.ResultChan()
	fmt.Printf("%s %s\n", event.Type, event.Object.(*corev1.ConfigMap).Name)
	initial := true
	latest := metav1.ListOptions{SendInitialEvents: &initial, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, LabelSelector: "list=yes"}
	streamed := must(maps.Watch(p.ctx, latest))
	defer streamed.Stop()
	for event := range streamed.ResultChan() {
		object := event.Object.(*corev1.ConfigMap)
		if event.Type == watch.Bookmark {
			fmt.Printf("%s %v\n", event.Type, object.Annotations)
			break
		}
		fmt.Printf("%s %s\n", event.Type, object.Name)
	}
	_, err := maps.Watch(p.ctx, metav1.ListOptions{ResourceVersion: "x"})
	showError("bad version", err)
}

func sorted(values []string) []string {
	slices.Sort(values)
	return values
}
