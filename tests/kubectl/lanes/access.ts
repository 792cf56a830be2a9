/** Users, rights and certificates. */
import type { Lane } from '../session.ts'

const REQUEST = (name: string): string => `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: ${name}}
spec:
  request: REQUEST
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
`

const signing = (name: string): string =>
  'openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null -subj /CN=ann -out ann.csr 2> /dev/null; ' +
  `sed "s#REQUEST#$(base64 -w 0 ann.csr)#" ${name}.yaml | kubectl create -f -`

export const ACCESS: Lane = {
  name: 'access',
  files: {
    'access-a.yaml': REQUEST('access-a'),
    'access-b.yaml': REQUEST('access-b'),
  },
  steps: [
    'kubectl auth whoami',
    'kubectl auth whoami -o json',
    'kubectl auth can-i create pods',
    "kubectl auth can-i '*' '*'",
    'kubectl auth can-i get nothings',
    'kubectl auth can-i get /healthz',
    'kubectl auth can-i --list',
    'kubectl create role reader --verb=get,list --resource=pods,pods/log',
    'kubectl create rolebinding readers --role=reader --user=ann --serviceaccount=access:robot',
    'kubectl auth can-i list pods --as=ann',
    'kubectl auth can-i delete pods --as=ann',
    'kubectl auth can-i get pods --subresource=log --as=system:serviceaccount:access:robot',
    'kubectl auth can-i list pods --as=ann -n default',
    'kubectl auth can-i list pods --as=ann -A -q; echo $?',
    'kubectl auth can-i get pods/a --as=ann -v=0',
    'kubectl auth can-i --list --as=ann',
    'kubectl auth whoami --as=ann --as-group=team',
    'kubectl get pods --as=ann',
    'kubectl get secrets --as=ann',
    'kubectl create configmap mine --as=ann',
    'kubectl create serviceaccount robot',
    'kubectl create token robot',
    'kubectl create token robot --duration=1h --audience=me',
    'kubectl create token robot --duration=1s',
    'kubectl create token missing',
    'kubectl create token robot --bound-object-kind=Pod --bound-object-name=missing',
    'kubectl get pods --token=wrong --kubeconfig=/dev/null --insecure-skip-tls-verify ' +
    '--server=$(kubectl config view -o jsonpath={.clusters[0].cluster.server})',
    'kubectl get configmaps --token=$(kubectl create token robot) --kubeconfig=/dev/null --insecure-skip-tls-verify ' +
    '--server=$(kubectl config view -o jsonpath={.clusters[0].cluster.server}) -n access',
    signing('access-a'),
    signing('access-b'),
    'kubectl get csr access-a access-b',
    'kubectl certificate approve access-a',
    'kubectl certificate approve access-a',
    'kubectl certificate deny access-a',
    'kubectl certificate deny access-b',
    'kubectl certificate approve missing',
    'kubectl get csr access-a access-b',
    "kubectl get csr access-a -o jsonpath='{.status.conditions[0].type} {.status.conditions[0].message}'",
    'kubectl describe csr access-b',
    'kubectl delete csr access-a access-b',
  ],
}
