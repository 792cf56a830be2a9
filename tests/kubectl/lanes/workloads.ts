/** Commands for workloads: scale, autoscale, set, rollout, expose, run. The status is patched in place of controllers. */
import type { Lane } from '../session.ts'

const status = (fields: Record<string, unknown>): string =>
  `--subresource=status --type=merge -p '${JSON.stringify({ status: fields })}'`

const replicaSet = (revision: number, image: string): string => `
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-${revision}
  labels: {app: web, pod-template-hash: h${revision}}
  annotations: {deployment.kubernetes.io/revision: '${revision}', kubernetes.io/change-cause: to ${image}}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: UID, controller: true}]
spec:
  replicas: ${revision === 2 ? 2 : 0}
  selector: {matchLabels: {app: web, pod-template-hash: h${revision}}}
  template:
    metadata: {labels: {app: web, pod-template-hash: h${revision}}}
    spec: {containers: [{name: web, image: '${image}'}]}
`

export const WORKLOADS: Lane = {
  name: 'workloads',
  files: { 'set1.yaml': replicaSet(1, 'nginx:1.26'), 'set2.yaml': replicaSet(2, 'nginx:1.27') },
  steps: [
    'kubectl create deployment web --image=nginx:1.26 --replicas=2',
    'kubectl scale deployment web --replicas=3',
    { run: 'kubectl scale deployment web --replicas=3', as: 'scale again' },
    'kubectl scale deployment web --replicas=4 --current-replicas=2',
    'kubectl scale deployment web --replicas=2 --current-replicas=3',
    { run: 'kubectl scale deployment web --replicas=2 --resource-version=1', replace: [[/was \d+/g, 'was <version>']] },
    'kubectl scale deployment web --replicas=-1',
    'kubectl scale deployment missing --replicas=1',
    'kubectl scale configmap missing --replicas=1',
    'kubectl scale deployment --all --replicas=2',
    'kubectl scale deployment web --replicas=7 --dry-run=server',
    'kubectl autoscale deployment web --min=1 --max=5 --cpu=80%',
    { run: 'kubectl autoscale deployment web --min=1 --max=5 --cpu=80%', as: 'autoscale again' },
    'kubectl autoscale deployment web --name=other --min=6 --max=5 --cpu=80%',
    'kubectl get hpa web -o yaml',
    'kubectl get hpa',
    'kubectl get horizontalpodautoscalers.v1.autoscaling web -o yaml',
    'kubectl set image deployment/web nginx=nginx:1.27',
    'kubectl set image deployment/web nothing=nginx:1.27',
    'kubectl set image deployment web *=nginx:1.28 --dry-run=server -o jsonpath={.spec.template.spec.containers[*].image}',
    'kubectl set env deployment/web A=1 B=2',
    'kubectl set env deployment/web --list',
    'kubectl set env deployment/web A-',
    'kubectl create configmap vars --from-literal=x=1; kubectl set env deployment/web --from=configmap/vars --prefix=CM_',
    'kubectl set resources deployment web --limits=cpu=200m,memory=128Mi --requests=cpu=100m',
    'kubectl set resources deployment web --limits=cpu=1 --requests=cpu=2',
    'kubectl set serviceaccount deployment web robot',
    'kubectl create service clusterip web --tcp=80; kubectl set selector service web app=other',
    'kubectl create rolebinding readers --role=reader --user=ann; kubectl set subject rolebinding readers --user=bob --group=team',
    'kubectl get deployment web -o yaml',
    'kubectl rollout status deployment web --watch=false',
    'kubectl rollout history deployment web',
    'uid=$(kubectl get deployment web -o jsonpath={.metadata.uid}); sed "s/UID/$uid/" set1.yaml set2.yaml | sed "s/^apiVersion: apps/---\\n&/" | kubectl create -f -',
    { run: 'kubectl rollout history deployment web', as: 'rollout history with two revisions' },
    'kubectl rollout history deployment web --revision=1',
    'kubectl rollout history deployment web --revision=9',
    'kubectl rollout undo deployment web --to-revision=1',
    'kubectl rollout undo deployment web --to-revision=9',
    'kubectl rollout undo deployment web --dry-run=server',
    'kubectl get deployment web -o jsonpath={.spec.template.spec.containers}',
    'kubectl rollout pause deployment web',
    { run: 'kubectl rollout pause deployment web', as: 'rollout pause again' },
    'kubectl rollout undo deployment web',
    'kubectl rollout restart deployment web',
    'kubectl rollout resume deployment web',
    { run: 'kubectl rollout restart deployment web', as: 'rollout restart after resume' },
    'kubectl rollout status deployment web --timeout=1s',
    `kubectl patch deployment web ${
      status({
        observedGeneration: 99,
        replicas: 2,
        updatedReplicas: 2,
        readyReplicas: 2,
        availableReplicas: 2,
        conditions: [{ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' }],
      })
    }`,
    'kubectl rollout status deployment web',
    'kubectl rollout status deployment missing',
    'kubectl describe deployment web',
    'kubectl get deployment,replicaset -o wide',
    'kubectl expose deployment web --port=80 --target-port=8080 --name=exposed -o yaml',
    'kubectl expose deployment web --port=80',
    'kubectl expose deployment web --name=none',
    'kubectl expose service exposed --name=again --port=81 --type=NodePort',
    'kubectl run alone --image=nginx --port=80 --labels=a=b --env=A=1 -o yaml',
    { run: 'kubectl run alone --image=nginx', as: 'run again' },
    'kubectl run both --image=nginx --port=80 --expose',
    'kubectl run command --image=busybox --restart=Never --command -- sh -c true',
    'kubectl run client --image=nginx --dry-run=client -o yaml',
    'kubectl run overridden --image=nginx --overrides=\'{"spec":{"nodeSelector":{"a":"b"}}}\' -o jsonpath={.spec.nodeSelector}',
    'kubectl run Bad_Name --image=nginx',
    'kubectl get pods,services',
    'kubectl get all',
  ],
}
