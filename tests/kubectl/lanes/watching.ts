/** `get -w` and `wait`, without sleeping: each line of a watch is awaited before the next change. */
import type { Lane } from '../session.ts'

/** Reads the first lines of a watch while it goes on; after each, a command may change something. */
const watching = (command: string, ...reads: readonly string[]): string =>
  [
    'rm -f pipe; mkfifo pipe',
    `timeout 20 kubectl ${command} > pipe & watch=$!`,
    'exec 3< pipe',
    ...reads.map((change) => `read -r line <&3; echo "$line"${change && `; kubectl ${change} > /dev/null`}`),
    'kill $watch',
  ].join('; ')

export const WATCHING: Lane = {
  name: 'watching',
  files: {
    'pod.yaml': 'apiVersion: v1\nkind: Pod\nmetadata: {name: waited}\nspec: {containers: [{name: a, image: b}]}\n',
  },
  steps: [
    'kubectl create configmap one --from-literal=a=1',
    {
      as: 'get configmaps -w',
      run: watching('get configmaps -w', '', 'label configmap one color=red', 'create configmap two', ''),
    },
    {
      as: 'get configmaps -w with its events',
      run: watching(
        'get configmaps -w --output-watch-events',
        '',
        '',
        'label configmap one color=blue --overwrite',
        'delete configmap two',
        '',
      ),
    },
    {
      as: 'get configmaps -w -o name',
      run: watching('get configmaps one -w -o name', 'annotate configmap one note=1', ''),
    },
    {
      as: 'get configmaps -w -l',
      run: watching(
        'get configmaps -w -l color=blue --output-watch-events',
        '',
        'label configmap one color-',
        '',
      ),
    },
    {
      as: 'get configmaps -w -o jsonpath',
      run: watching(
        'get configmaps one -w -o jsonpath=\'{.metadata.labels.size}{"\\n"}\'',
        'label configmap one size=big',
        '',
      ),
    },
    'kubectl get --raw "/api/v1/namespaces/watching/configmaps?watch=1&resourceVersion=0&timeoutSeconds=1" | grep -c ADDED',
    'kubectl get configmaps --watch-only --request-timeout=1s',
    'kubectl get configmaps -w missing',
    'kubectl create -f pod.yaml',
    'kubectl wait pod/waited --for=condition=Ready --timeout=1s',
    `kubectl patch pod waited --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'`,
    { run: 'kubectl wait pod/waited --for=condition=Ready --timeout=5s', as: 'wait for a condition that holds' },
    "kubectl wait pod/waited --for=jsonpath='{.status.phase}'=Running --timeout=5s",
    "kubectl wait pod/waited --for=jsonpath='{.status.phase}' --timeout=5s",
    "kubectl wait pod/waited --for=jsonpath='{.status.phase}'=Failed --timeout=1s",
    'kubectl wait pod/missing --for=condition=Ready --timeout=1s',
    'kubectl wait pods -l none=such --for=condition=Ready --timeout=1s',
    'kubectl wait pod/waited --for=delete --timeout=1s',
    {
      as: 'wait --for=delete while it is deleted',
      run:
        'kubectl wait pod/waited --for=delete --timeout=20s > /dev/null & kubectl delete pod waited --wait=false > /dev/null; wait $!; echo $?',
    },
    { as: 'wait --for=delete of what is gone', run: 'kubectl wait pod/waited --for=delete --timeout=1s' },
    'kubectl wait configmap/later --for=create --timeout=1s',
    {
      as: 'wait --for=create while it is created',
      run:
        'kubectl wait configmap/later --for=create --timeout=20s & kubectl create configmap later > /dev/null; wait $!; echo $?',
    },
  ],
}
