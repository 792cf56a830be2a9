/** `describe` of many kinds, and `events`. */
import type { Lane } from '../session.ts'
import { SHOP } from '../manifests.ts'

const EVENTS = `
apiVersion: v1
kind: Event
metadata: {name: deploy.1}
involvedObject: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: describing}
reason: ScalingReplicaSet
message: Scaled up replica set web-1 from 0 to 2
type: Normal
count: 1
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:00:00Z'
source: {component: deployment-controller}
---
apiVersion: v1
kind: Event
metadata: {name: pod.1}
involvedObject: {apiVersion: v1, kind: Pod, name: web-2, namespace: describing, fieldPath: 'spec.containers{main}'}
reason: BackOff
message: Back-off restarting failed container
type: Warning
count: 7
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-02T00:00:00Z'
source: {component: kubelet, host: node-a}
`

const VOLUME = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: describing-volume}
spec:
  capacity: {storage: 2Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  hostPath: {path: /data}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: describing-fast}
provisioner: example.com/disk
parameters: {type: ssd}
allowVolumeExpansion: true
`

export const DESCRIBING: Lane = {
  name: 'describing',
  files: {
    'shop.yaml': SHOP.replaceAll('namespace: reading', 'namespace: describing'),
    'events.yaml': EVENTS,
    'volume.yaml': VOLUME,
  },
  steps: [
    'kubectl apply -f shop.yaml -f volume.yaml',
    'kubectl create -f events.yaml',
    'kubectl describe pod web-1',
    'kubectl describe pods web-2',
    'kubectl describe pods -l app=web --show-events=false',
    'kubectl describe deployment web',
    'kubectl describe replicaset set',
    'kubectl describe statefulset db',
    'kubectl describe daemonset agent',
    'kubectl describe service web',
    'kubectl describe configmap settings',
    'kubectl describe secret password',
    'kubectl describe serviceaccount robot',
    'kubectl describe namespace describing',
    'kubectl describe job once',
    'kubectl describe cronjob often',
    'kubectl describe pvc data',
    'kubectl describe pv describing-volume',
    'kubectl describe storageclass describing-fast',
    'kubectl describe ingress web',
    'kubectl describe networkpolicy closed',
    'kubectl describe pdb web',
    'kubectl describe quota limited',
    'kubectl describe limits limits',
    'kubectl describe hpa web',
    'kubectl describe role reader',
    'kubectl describe rolebinding readers',
    'kubectl describe lease leader',
    'kubectl describe events deploy.1',
    'kubectl describe pod missing',
    'kubectl describe pods we',
    'kubectl describe nothings',
    'kubectl describe -f volume.yaml',
    'kubectl get events',
    'kubectl get events -o wide',
    'kubectl get events --sort-by=.lastTimestamp -o name',
    'kubectl get events --field-selector=type=Warning',
    'kubectl get events.events.k8s.io',
    'kubectl events',
    'kubectl events --for=pod/web-2',
    'kubectl events --types=Warning -o name',
    'kubectl events --for=pod/web-1 --types=Nothing',
    'kubectl get pv,sc describing-volume',
    'kubectl get pv describing-volume -o wide',
    'kubectl get sc describing-fast',
    'kubectl delete -f volume.yaml --wait=false',
    `kubectl patch pv describing-volume --type=merge -p '{"metadata":{"finalizers":null}}'`,
    'kubectl get pv describing-volume',
  ],
}
