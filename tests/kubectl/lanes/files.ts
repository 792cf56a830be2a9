/** `create -f` and `replace`: several documents, validation, dry runs. */
import type { Lane } from '../session.ts'

const SEVERAL = `
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
data: {a: '1'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: Second_Invalid}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: third}
`

const UNKNOWN = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: unknown}
spec:
  replica: 2
  selector: {matchLabels: {app: unknown}}
  template:
    metadata: {labels: {app: unknown}}
    spec: {containers: [{name: main, image: nginx, imagePolicy: Always}]}
`

const deployment = (name: string, spec: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec: ${spec}
`

export const FILES: Lane = {
  name: 'files',
  files: {
    'several.yaml': SEVERAL,
    'folder/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: folder-a}\n',
    'folder/b.txt': 'not read',
    'folder/deep/c.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: folder-c}\n',
    'unknown.yaml': UNKNOWN,
    'twice.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata:\n  a: "1"\n  a: "2"\n',
    'type.yaml': deployment('type', '{replicas: many, selector: {matchLabels: {a: b}}}'),
    'selector.yaml': deployment(
      'selector',
      '{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: a, image: b}]}}}',
    ),
    'empty-spec.yaml': deployment('empty', '{}'),
    'pod.yaml':
      'apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: [{name: A_B}], restartPolicy: Sometimes}\n',
    'nothing.yaml': 'apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: a}\n',
    'list.json': JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `list-${name}` } })),
    }),
    'generated.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\n',
    'elsewhere.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: default}\n',
    'broken.yaml': 'apiVersion: v1\nkind: [\n',
    'kindless.yaml': 'apiVersion: v1\nmetadata: {name: a}\n',
    'map.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, labels: {color: red}}\ndata: {a: "1"}\n',
    'map2.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {b: "2"}\n',
    'secret.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: fixed}\nimmutable: true\nstringData: {a: "1"}\n',
    'secret2.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: fixed}\nimmutable: true\nstringData: {a: "2"}\n',
  },
  steps: [
    'kubectl create -f several.yaml',
    'kubectl get configmaps',
    'kubectl create -f several.yaml -o name',
    'kubectl create -f unknown.yaml',
    'kubectl create -f unknown.yaml --validate=warn --dry-run=server',
    'kubectl create -f unknown.yaml --validate=ignore --dry-run=server -o name',
    'kubectl create -f unknown.yaml --validate=false',
    'kubectl apply -f unknown.yaml',
    'kubectl create -f twice.yaml',
    'kubectl create -f twice.yaml --validate=warn',
    'kubectl create -f type.yaml',
    'kubectl create -f type.yaml --validate=false',
    'kubectl create -f selector.yaml',
    'kubectl create -f empty-spec.yaml',
    'kubectl create -f pod.yaml',
    'kubectl create -f nothing.yaml',
    'kubectl create -f list.json',
    'kubectl create -f list.json --dry-run=client -o yaml',
    { run: 'kubectl create -f generated.yaml', replace: [[/gen-\w{5}/g, 'gen-<name>']] },
    'kubectl apply -f generated.yaml',
    'kubectl create -f elsewhere.yaml',
    'kubectl create -f broken.yaml',
    'kubectl create -f kindless.yaml',
    'kubectl create -f missing.yaml',
    'kubectl create -f folder',
    'kubectl create -f folder -R',
    "echo '{}' | kubectl create -f -",
    'kubectl create -f map.yaml --dry-run=client -o yaml',
    'kubectl create -f map.yaml --dry-run=server -o yaml',
    'kubectl create -f map.yaml --save-config -o yaml',
    'kubectl replace -f map2.yaml -o yaml',
    'kubectl replace -f map2.yaml --dry-run=server',
    'kubectl replace -f folder/missing.yaml',
    'kubectl get configmap map -o yaml | sed s/map$/never/ | kubectl replace -f -',
    'kubectl get configmap map -o yaml | sed \'s/resourceVersion: .*/resourceVersion: "1"/\' | kubectl replace -f -',
    "kubectl get configmap map -o yaml | sed 's/uid: .*/uid: 11111111-2222-3333-4444-555555555555/' | kubectl replace -f -",
    'kubectl replace --force -f map.yaml',
    { run: 'kubectl get configmap map -o yaml', as: 'get configmap map after replace --force' },
    'kubectl create -f secret.yaml',
    'kubectl replace -f secret2.yaml',
    'kubectl apply -f secret2.yaml',
    'kubectl delete -f several.yaml',
    'kubectl delete -f list.json -o name',
  ],
}
