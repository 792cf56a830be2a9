/** `delete` with each cascade, finalizers, and what stays. */
import type { Lane } from '../session.ts'

/** A deployment and a replica set that it owns, in a file whose owner's uid is filled in. */
const owned = (name: string): string =>
  `kubectl create deployment ${name} --image=nginx > /dev/null; ` +
  `uid=$(kubectl get deployment ${name} -o jsonpath={.metadata.uid}); ` +
  `sed "s/UID/$uid/; s/OWNER/${name}/" owned.yaml | kubectl create -f -`

const OWNED = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: of-OWNER
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: OWNER, uid: UID, blockOwnerDeletion: true}]
`

const maps = (...names: string[]): string => names.map((name) => `kubectl create configmap ${name}`).join('; ')

export const DELETING: Lane = {
  name: 'deleting',
  files: {
    'owned.yaml': OWNED,
    'held.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/hold]}\n',
    'pod.yaml':
      'apiVersion: v1\nkind: Pod\nmetadata: {name: bound}\nspec: {nodeName: no-node, containers: [{name: a, image: b}]}\n',
  },
  steps: [
    maps('one', 'two', 'three', 'four', 'five'),
    'kubectl delete configmap one',
    'kubectl delete configmap one',
    'kubectl delete configmap one --ignore-not-found',
    'kubectl delete configmap/two configmap/missing',
    'kubectl delete configmap three --dry-run=server',
    'kubectl delete configmap three --dry-run=client',
    'kubectl delete configmap three --wait=false -o name',
    'kubectl delete configmaps',
    'kubectl delete nothings missing',
    'kubectl label configmap four gone=yes; kubectl delete configmaps -l gone=yes',
    'kubectl delete configmaps -l gone=yes',
    'kubectl delete configmap five --cascade=nonsense',
    'kubectl delete configmaps --field-selector=metadata.name=five',
    owned('background'),
    'kubectl delete deployment background; kubectl wait configmap/of-background --for=delete --timeout=30s > /dev/null; echo $?',
    owned('foreground'),
    'kubectl delete deployment foreground --cascade=foreground; kubectl get configmap of-foreground',
    owned('orphan'),
    'kubectl delete deployment orphan --cascade=orphan; kubectl get configmap of-orphan -o jsonpath={.metadata.ownerReferences}',
    'kubectl create -f held.yaml',
    'kubectl delete configmap held --wait=false',
    'kubectl delete configmap held --timeout=1s',
    'kubectl get configmap held -o yaml',
    'kubectl label configmap held still=here',
    `kubectl patch configmap held --type=merge -p '{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}'`,
    `kubectl patch configmap held --type=merge -p '{"metadata":{"finalizers":null}}'; kubectl get configmap held`,
    'kubectl create -f pod.yaml',
    'kubectl delete pod bound --wait=false',
    'kubectl get pod bound',
    'kubectl get pod bound -o jsonpath={.metadata.deletionGracePeriodSeconds}',
    'kubectl delete pod bound --now --wait=false',
    'kubectl delete pod bound --force --grace-period=0',
    'kubectl get pod bound --ignore-not-found',
    'kubectl create -f pod.yaml; kubectl delete pod bound --force',
    'kubectl run loose --image=nginx; kubectl delete pod loose --grace-period=5',
    'kubectl run loose --image=nginx; kubectl delete pod loose --grace-period=0',
    'kubectl create namespace deleting-me; kubectl create configmap inside -n deleting-me; kubectl delete namespace deleting-me',
    'kubectl get namespace deleting-me',
    'kubectl create namespace deleting-held; kubectl create -f held.yaml -n deleting-held; kubectl delete namespace deleting-held --wait=false',
    "kubectl wait namespace/deleting-held --for=jsonpath='{.status.phase}'=Terminating --timeout=20s",
    'kubectl get namespace deleting-held',
    'kubectl create configmap late -n deleting-held',
    'kubectl wait namespace/deleting-held --for=condition=NamespaceFinalizersRemaining --timeout=20s',
    'kubectl get namespace deleting-held -o jsonpath=\'{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}\' | sort',
    `kubectl patch configmap held -n deleting-held --type=merge -p '{"metadata":{"finalizers":null}}'; kubectl wait namespace/deleting-held --for=delete --timeout=30s > /dev/null; kubectl get namespace deleting-held`,
    'kubectl delete namespace default',
    'kubectl delete namespace missing',
    maps('all-1', 'all-2') + '; kubectl create secret generic all-3',
    'kubectl delete secrets --all',
    'kubectl delete configmap,secret --all --wait=false | sort',
    'kubectl delete all --all',
    'kubectl delete --raw /api/v1/namespaces/deleting/configmaps/missing',
    'kubectl delete -f pod.yaml',
    'echo y | kubectl delete configmap none --interactive',
    'kubectl create configmap asked; echo y | kubectl delete configmap asked -i',
    'kubectl create configmap kept; echo n | kubectl delete configmap kept -i',
  ],
}
