/** Commands that need the server little or not at all, `proxy` included. */
import type { Lane } from '../session.ts'

export const LOCAL: Lane = {
  name: 'local',
  steps: [
    'kubectl config view --minify -o jsonpath={.contexts[0].context.namespace}',
    'kubectl config set-context --current --namespace=default; kubectl config view -o jsonpath={.contexts[0].context.namespace}',
    'kubectl config set-context --current --namespace=local > /dev/null; kubectl config get-clusters',
    'kubectl plugin list',
    'kubectl options | head -n 3',
    {
      as: 'proxy',
      run: 'mkfifo pipe; kubectl proxy --port=0 > pipe & proxy=$!; read -r line < pipe; ' +
        'port=${line##*:}; curl -s http://127.0.0.1:$port/api/v1/namespaces/local | grep name; ' +
        'curl -s -o /dev/null -w "%{http_code}\\n" http://127.0.0.1:$port/nothing; kill $proxy',
    },
    'kubectl get pods --server=https://127.0.0.1:1 --request-timeout=2s 2>&1 | tail -n 1',
    'kubectl get pods --context=missing',
    'kubectl get pods --request-timeout=nonsense',
    'kubectl nothing',
    'kubectl get',
    'kubectl create',
    `kubectl cluster-info dump --namespaces=local -o json | grep '"kind": ".*List"'`,
    'kubectl get namespace local -o jsonpath={.status.phase} --cache-dir=cache; ls cache',
    'kubectl get --raw /api/v1/namespaces/local/configmaps/missing',
    `echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"}}' | kubectl create --raw /api/v1/namespaces/local/configmaps -f - | grep -o '"kind":"ConfigMap"'`,
    `echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"},"data":{"a":"1"}}' | kubectl replace --raw /api/v1/namespaces/local/configmaps/raw -f - | grep -o '"data":{[^}]*}'`,
    `kubectl delete --raw /api/v1/namespaces/local/configmaps/raw`,
    'kubectl convert -f x',
    'kubectl alpha',
  ],
}
