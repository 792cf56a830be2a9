/** `apply` on the client and on the server, and `diff`. */
import type { Lane } from '../session.ts'

const map = (data: string, labels = 'part: one'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, labels: {${labels}}}\ndata: {${data}}\n`

const web = (replicas: string, image: string, extra = ''): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {part: one}}
spec:
  ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: '${image}', ports: [{containerPort: 80}]}
      ${extra}
`

export const APPLYING: Lane = {
  name: 'applying',
  files: {
    'map1.yaml': map('a: "1", b: "2"'),
    'map2.yaml': map('a: "9", c: "3"', 'part: two'),
    'web1.yaml': web('replicas: 2', 'nginx:1.26'),
    'web2.yaml': web('replicas: 2', 'nginx:1.27', "- {name: side, image: 'envoy:1'}"),
    'web3.yaml': web('', 'nginx:1.27'),
    'server1.yaml': map('a: "1", b: "2"').replace('name: map', 'name: server'),
    'server2.yaml': map('a: "2"').replace('name: map', 'name: server'),
    'prune/one.yaml': map('a: "1"', 'prune: "yes"').replace('name: map', 'name: kept'),
    'prune/two.yaml': map('a: "1"', 'prune: "yes"').replace('name: map', 'name: pruned'),
    'kustomization.yaml': 'resources: [map1.yaml]\nnamePrefix: my-\ncommonLabels: {by: kustomize}\n' +
      'configMapGenerator: [{name: generated, literals: [a=1]}]\n',
  },
  steps: [
    'kubectl diff -f map1.yaml',
    'kubectl apply -f map1.yaml --dry-run=server',
    'kubectl apply -f map1.yaml',
    { run: 'kubectl apply -f map1.yaml', as: 'apply without a change' },
    'kubectl diff -f map1.yaml; echo $?',
    'kubectl diff -f map2.yaml; echo $?',
    'kubectl diff --server-side -f map2.yaml',
    'kubectl apply -f map2.yaml -o yaml',
    'kubectl apply -f map2.yaml --dry-run=client',
    'kubectl get configmap map -o yaml --show-managed-fields',
    'kubectl apply view-last-applied configmap map',
    'kubectl apply -f web1.yaml',
    'kubectl apply -f web2.yaml -o yaml',
    'kubectl scale deployment web --replicas=5',
    'kubectl apply -f web3.yaml',
    'kubectl get deployment web -o jsonpath={.spec.replicas}',
    { run: 'kubectl diff -f web1.yaml', as: 'diff of a deployment' },
    { run: 'kubectl apply -f web1.yaml', as: 'apply removes a container' },
    'kubectl get deployment web -o yaml --show-managed-fields',
    'kubectl apply set-last-applied -f web2.yaml',
    'kubectl create configmap foreign --from-literal=a=1',
    'printf \'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: foreign}\\ndata: {a: "2"}\\n\' | kubectl apply -f -',
    'kubectl apply --server-side -f server1.yaml',
    { run: 'kubectl apply --server-side -f server1.yaml', as: 'apply --server-side without a change' },
    'kubectl apply --server-side -f server2.yaml --field-manager=other',
    'kubectl apply --server-side -f server2.yaml --field-manager=other --force-conflicts',
    'kubectl get configmap server -o yaml --show-managed-fields',
    { run: 'kubectl apply --server-side -f server1.yaml', as: 'apply --server-side with a conflict' },
    'kubectl apply --server-side -f server2.yaml --dry-run=server -o yaml',
    'kubectl apply --server-side -f map1.yaml',
    'kubectl get configmap map -o yaml --show-managed-fields > out; grep -c last-applied out; cat out',
    { run: 'kubectl apply -f map2.yaml', as: 'client-side apply after server-side apply' },
    'kubectl apply --server-side -f web1.yaml',
    'kubectl apply --server-side -f web3.yaml --field-manager=scaler',
    'kubectl apply -f prune',
    'rm prune/two.yaml; kubectl apply -f prune --prune -l prune=yes',
    'kubectl get configmaps -l prune=yes',
    'kubectl apply -f missing.yaml',
    'kubectl apply -f map1.yaml -n missing',
    'kubectl kustomize .',
    'kubectl kustomize . | kubectl apply -f -',
    'kubectl apply -k .',
    'kubectl diff -k .',
    'kubectl delete -k .',
    "printf 'apiVersion: v1\\nkind: Service\\nmetadata: {name: ports}\\nspec: {ports: [{port: 80, name: a}]}\\n' | kubectl apply -f -",
    "printf 'apiVersion: v1\\nkind: Service\\nmetadata: {name: ports}\\nspec: {ports: [{port: 81, name: b}, {port: 80, name: a}]}\\n' | kubectl apply -f -",
    'kubectl get service ports -o jsonpath={.spec.ports}',
    "printf 'apiVersion: v1\\nkind: Service\\nmetadata: {name: ports}\\nspec: {clusterIP: 10.96.0.250, ports: [{port: 81, name: b}]}\\n' | kubectl apply -f -",
  ],
}
