/** `edit`, `patch`, `label`, `annotate`. */
import type { Lane } from '../session.ts'

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1.26', env: [{name: A, value: a}]}]}
`

/** Edits with a script of sed. kubectl names its temporary file at random. */
const edited = (script: string, rest: string): string => `KUBE_EDITOR='sed -i -f ${script}.sed' kubectl edit ${rest}`

export const CHANGING: Lane = {
  name: 'changing',
  files: {
    'web.yaml': DEPLOYMENT,
    'patch.yaml': 'data: {p: file}\n',
    'value.sed': 's/a: "1"/a: "2"/\n',
    'nothing.sed': 's/nothing/never/\n',
    'image.sed': 's/nginx:1.26/nginx:1.27/\n',
    'selector.sed': 's/^      app: web/      app: other/\n',
    'type.sed': 's/a: "2"/a: 3/\n',
    'name.sed': 's/name: map/name: other/\n',
    'syntax.sed': 's/kind: ConfigMap/kind: [/\n',
    'unknown.sed': 's/^kind:/unknown: 1\\nkind:/\n',
    'status.sed': 's/^status: {}/status: {replicas: 7}/\n',
    'both.sed':
      's/^  name:/  labels: {edited: both}\\n  name:/; s/^    name:/    labels: {edited: both}\\n    name:/\n',
  },
  steps: [
    'kubectl create configmap map --from-literal=a=1 --from-literal=b=2',
    'kubectl create -f web.yaml',
    edited('value', 'configmap map'),
    edited('nothing', 'configmap map'),
    edited('image', 'deployment web -o json'),
    edited('selector', 'deployment web'),
    edited('type', 'configmap map'),
    edited('name', 'configmap map'),
    edited('syntax', 'configmap map'),
    edited('unknown', 'configmap map'),
    edited('status', 'deployment web --subresource=status'),
    'kubectl get deployment web -o jsonpath={.status}',
    edited('both', 'configmap/map deployment/web'),
    'kubectl edit configmap missing',
    'kubectl get configmap map -o yaml --show-managed-fields',
    `kubectl patch configmap map -p '{"data":{"c":"3"}}'`,
    `kubectl patch configmap map -p '{"data":{"c":"3"}}' -o name`,
    `kubectl patch configmap map --type=merge -p '{"data":{"b":null}}' -o yaml`,
    `kubectl patch configmap map --type=json -p '[{"op":"add","path":"/data/d","value":"4"}]'`,
    `kubectl patch configmap map --type=json -p '[{"op":"test","path":"/data/d","value":"5"}]'`,
    `kubectl patch configmap map --type=json -p '[{"op":"remove","path":"/data/nothing"}]'`,
    `kubectl patch configmap map --type=json -p '[{"op":"replace","path":"/data/nothing/at/all","value":1}]'`,
    `kubectl patch configmap map --type=json -p '{"data":1}'`,
    `kubectl patch configmap map --type=nothing -p '{}'`,
    `kubectl patch configmap map -p '{"data":'`,
    `kubectl patch configmap map -p '{"data":{"e":1}}'`,
    `kubectl patch configmap map -p '{"nothing":1}'`,
    `kubectl patch configmap map -p '{"metadata":{"name":"other"}}'`,
    `kubectl patch configmap map --patch-file=patch.yaml`,
    `kubectl patch configmap missing -p '{}'`,
    `kubectl patch configmap map -p '{"data":{"dry":"run"}}' --dry-run=server -o jsonpath={.data.dry}`,
    `kubectl patch configmap map -p '{"data":{"dry":"run"}}' --dry-run=client -o yaml`,
    `kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"B","value":"b"}]},{"name":"side","image":"envoy"}]}}}}'`,
    'kubectl get deployment web -o yaml',
    `kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}'`,
    `kubectl patch deployment web -p '{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}'`,
    `kubectl patch deployment web -p '{"spec":{"replicas":-1}}'`,
    `kubectl patch deployment web --type=merge -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'`,
    `kubectl patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":4}}'`,
    `kubectl patch deployment web --subresource=status --type=merge -p '{"status":{"replicas":4,"readyReplicas":3,"updatedReplicas":4,"availableReplicas":3}}'`,
    'kubectl get deployments',
    'kubectl label configmap map color=red',
    { run: 'kubectl label configmap map color=red', as: 'label again' },
    'kubectl label configmap map color=blue',
    'kubectl label configmap map color=blue --overwrite',
    'kubectl label configmap map color-',
    'kubectl label configmap map nothing-',
    "kubectl label configmap map 'bad key=1'",
    "kubectl label configmap map color='bad value'",
    'kubectl label configmap map size=big --resource-version=1',
    'kubectl label configmaps --all all=yes',
    'kubectl label configmap map --list | sort',
    'kubectl label configmap missing a=b',
    'kubectl label configmap map x=y --dry-run=server',
    'kubectl label -f web.yaml from=file',
    'kubectl label pods,configmaps -l all=yes kind=any',
    'kubectl annotate configmap map note=first',
    'kubectl annotate configmap map note=second',
    'kubectl annotate configmap map note=second --overwrite',
    'kubectl annotate configmap map note-',
    'kubectl annotate configmap map --list | sort',
    'kubectl annotate configmap map a=b c=d -o yaml',
    "kubectl annotate configmap map 'bad key=1'",
  ],
}
