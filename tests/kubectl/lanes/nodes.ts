/** Nodes: cordon, taint, drain. And what needs a kubelet or metrics, which is not there. */
import type { Lane } from '../session.ts'

const NODE = `
apiVersion: v1
kind: Node
metadata:
  name: nodes-a
  labels: {kubernetes.io/hostname: nodes-a, node-role.kubernetes.io/worker: ''}
spec: {podCIDR: 10.200.0.0/24, providerID: local://nodes-a}
status:
  capacity: {cpu: '4', memory: 8Gi, pods: '110'}
  allocatable: {cpu: '4', memory: 8Gi, pods: '110'}
  conditions:
  - {type: Ready, status: 'True', reason: KubeletReady, message: ready, lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z'}
  addresses: [{type: InternalIP, address: 127.0.0.1}]
  daemonEndpoints: {kubeletEndpoint: {Port: 1}}
  nodeInfo:
    kubeletVersion: v1.36.3
    containerRuntimeVersion: containerd://2.0
    osImage: Linux
    kernelVersion: '6.1'
    architecture: amd64
    operatingSystem: linux
    bootID: ''
    machineID: ''
    systemUUID: ''
    kubeProxyVersion: ''
`

const pods = (...names: string[]): string =>
  names.map((name) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  nodeName: nodes-a
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: nginx, resources: {requests: {cpu: 100m, memory: 32Mi}}}]
`).join('---')

const BUDGET = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guarded}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
`

const READY = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'

/** The status that the disruption controller writes. */
const ALLOWED =
  '{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}}'

export const NODES: Lane = {
  name: 'nodes',
  files: {
    'node.yaml': NODE,
    'pods.yaml': pods('loose', 'other'),
    'guarded.yaml': `${pods('guarded')}---${BUDGET}`,
    'file': 'x',
  },
  steps: [
    'kubectl create -f node.yaml',
    'kubectl get nodes',
    'kubectl get node nodes-a -o wide',
    'kubectl get node nodes-a -o yaml',
    'kubectl describe node nodes-a',
    'kubectl cordon nodes-a',
    'kubectl cordon nodes-a',
    'kubectl get nodes nodes-a',
    'kubectl uncordon nodes-a',
    'kubectl uncordon nodes-a --dry-run=server',
    'kubectl cordon missing',
    'kubectl taint node nodes-a key=value:NoSchedule',
    'kubectl taint node nodes-a key=value:NoSchedule',
    'kubectl taint node nodes-a key=other:NoSchedule',
    'kubectl taint node nodes-a key=other:NoSchedule --overwrite',
    'kubectl taint node nodes-a key=value:Nonsense',
    'kubectl taint node nodes-a key:NoSchedule-',
    'kubectl taint node nodes-a key-',
    'kubectl label node nodes-a disk=ssd',
    'kubectl create -f pods.yaml',
    'kubectl describe node nodes-a | grep -A 30 Non-terminated',
    'kubectl get pods -o wide',
    'kubectl get pods --field-selector=spec.nodeName=nodes-a -o name',
    'kubectl logs loose',
    'kubectl logs missing',
    'kubectl logs loose -c nothing',
    'kubectl exec loose -- date',
    'kubectl exec missing -- date',
    'kubectl attach loose',
    'kubectl cp file loose:/tmp/file',
    'kubectl port-forward pod/loose 18080:80',
    'kubectl port-forward pod/missing 18080:80',
    'kubectl debug loose --image=busybox -c dbg --attach=false; kubectl get pod loose -o jsonpath={.spec.ephemeralContainers}',
    'kubectl top nodes',
    'kubectl top pods',
    'kubectl drain nodes-a --dry-run=server',
    'kubectl drain nodes-a',
    'kubectl drain nodes-a --force --timeout=20s | sort',
    'kubectl get pods',
    'kubectl create -f guarded.yaml',
    `kubectl patch pod guarded --subresource=status --type=merge -p '${READY}'`,
    'timeout 4 kubectl drain nodes-a --force',
    `kubectl patch pdb guarded --subresource=status --type=merge -p '${ALLOWED}'`,
    'kubectl drain nodes-a --force --timeout=5s',
    'kubectl get pdb guarded',
    `kubectl create -f guarded.yaml; kubectl patch pod guarded --subresource=status --type=merge -p '${READY}'`,
    'kubectl get --raw /api/v1/nodes/nodes-a/proxy/healthz',
    'kubectl drain nodes-a --force --disable-eviction --timeout=20s',
    'kubectl drain missing',
    'kubectl get pods,pdb',
    'kubectl delete node nodes-a',
    'kubectl logs deployment/missing',
    'kubectl run unbound --image=nginx; kubectl logs unbound; kubectl exec unbound -- date',
  ],
}
