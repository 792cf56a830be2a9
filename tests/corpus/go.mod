module kubeloop.dev/corpus

go 1.26.6

require (
	github.com/argoproj/argo-cd/v3 v3.3.2
	github.com/argoproj/argo-rollouts v1.8.3
	github.com/cert-manager/cert-manager v1.21.2
	github.com/cilium/cilium v1.20.2
	github.com/external-secrets/external-secrets v1.3.2
	github.com/fluxcd/kustomize-controller v1.7.2
	github.com/fluxcd/source-controller v1.7.3
	github.com/kedacore/keda/v2 v2.21.0
	github.com/kyverno/kyverno v1.19.1
	github.com/prometheus-operator/prometheus-operator v0.85.0
	github.com/traefik/traefik/v3 v3.7.13
	github.com/vmware-tanzu/velero v1.18.3
	istio.io/api v1.32.0
	knative.dev/serving v0.51.0
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/gateway-api v1.6.1
	sigs.k8s.io/karpenter v1.8.0
	sigs.k8s.io/kueue v0.17.0
)
