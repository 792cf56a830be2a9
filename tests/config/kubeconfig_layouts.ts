/** Kubeconfigs in the layouts of common tools; names and credentials are made up. */

const DATA = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClEwRT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo='

export const KUBECONFIGS: Readonly<Record<string, string>> = {
  'kubectl, kind or k3s': `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${DATA}
    server: https://127.0.0.1:35071
  name: kind-kind
contexts:
- context:
    cluster: kind-kind
    user: kind-kind
  name: kind-kind
current-context: kind-kind
kind: Config
preferences: {}
users:
- name: kind-kind
  user:
    client-certificate-data: ${DATA}
    client-key-data: ${DATA}
`,
  'minikube': `apiVersion: v1
clusters:
- cluster:
    certificate-authority: /home/me/.minikube/ca.crt
    extensions:
    - extension:
        last-update: Fri, 20 Nov 2026 10:04:11 CET
        provider: minikube.sigs.k8s.io
        version: v1.37.0
      name: cluster_info
    server: https://192.168.49.2:8443
  name: minikube
contexts:
- context:
    cluster: minikube
    extensions:
    - extension:
        last-update: Fri, 20 Nov 2026 10:04:11 CET
        provider: minikube.sigs.k8s.io
        version: v1.37.0
      name: context_info
    namespace: default
    user: minikube
  name: minikube
current-context: minikube
kind: Config
preferences: {}
users:
- name: minikube
  user:
    client-certificate: /home/me/.minikube/profiles/minikube/client.crt
    client-key: /home/me/.minikube/profiles/minikube/client.key
`,
  'eksctl or aws': `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${DATA}
    server: https://0123456789ABCDEF.gr7.eu-central-1.eks.amazonaws.com
  name: arn:aws:eks:eu-central-1:111122223333:cluster/dev
contexts:
- context:
    cluster: arn:aws:eks:eu-central-1:111122223333:cluster/dev
    user: arn:aws:eks:eu-central-1:111122223333:cluster/dev
  name: arn:aws:eks:eu-central-1:111122223333:cluster/dev
current-context: arn:aws:eks:eu-central-1:111122223333:cluster/dev
kind: Config
preferences: {}
users:
- name: arn:aws:eks:eu-central-1:111122223333:cluster/dev
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - --region
      - eu-central-1
      - eks
      - get-token
      - --cluster-name
      - dev
      - --output
      - json
      command: aws
      env:
      - name: AWS_STS_REGIONAL_ENDPOINTS
        value: regional
      interactiveMode: IfAvailable
      provideClusterInfo: false
`,
  'gcloud': `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${DATA}
    server: https://34.107.1.2
  name: gke_project_europe-west3-a_dev
contexts:
- context:
    cluster: gke_project_europe-west3-a_dev
    user: gke_project_europe-west3-a_dev
  name: gke_project_europe-west3-a_dev
current-context: gke_project_europe-west3-a_dev
kind: Config
preferences: {}
users:
- name: gke_project_europe-west3-a_dev
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin
      provideClusterInfo: true
`,
  'az, in double quotes': `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${DATA}
    server: https://dev-dns-12345678.hcp.westeurope.azmk8s.io:443
  name: dev
contexts:
- context:
    cluster: dev
    user: clusterUser_group_dev
  name: dev
current-context: dev
kind: Config
preferences: {}
users:
- name: clusterUser_group_dev
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - get-token
      - --environment
      - AzurePublicCloud
      - --server-id
      - 6dae42f8-4368-4678-94ff-3960e28e3630
      command: kubelogin
      env: null
      installHint: "\\nkubelogin is not installed which is required to connect to AAD\\
        \\ enabled cluster.\\n\\nTo learn more, please go to https://aka.ms/aks/kubelogin\\n"
      provideClusterInfo: false
`,
  'az, in single quotes': `apiVersion: v1
kind: Config
users:
- name: clusterUser_group_dev
  user:
    exec:
      command: kubelogin
      installHint: '

        kubelogin is not installed which is required to connect to AAD enabled cluster.


        To learn more, please go to https://aka.ms/aks/kubelogin

        '
      provideClusterInfo: false
`,
  'kubectl, after az': `apiVersion: v1
kind: Config
users:
- name: clusterUser_group_dev
  user:
    exec:
      command: kubelogin
      env: null
      installHint: |2

        kubelogin is not installed which is required to connect to AAD enabled cluster.

        To learn more, please go to https://aka.ms/aks/kubelogin
      provideClusterInfo: false
`,
  'Rancher': `apiVersion: v1
kind: Config
clusters:
- name: "dev"
  cluster:
    server: "https://rancher.example.com/k8s/clusters/c-m-12345678"
    certificate-authority-data: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJ2VENDQ\\
      VdPZ0F3SUJBZ0lCQURBS0JnZ3Foa2pPUFFRREFqQkdNUnd3R2dZRFZRUUtFeE5rZVc1aGJXbGoKY\\
      kdsemRHVnVaWEl0YjNKbk1TWXdKQVlEVlFRRERCMWtlVzVoYldsamJHbHpkR1Z1WlhJdFkyRkFN"

users:
- name: "dev"
  user:
    token: "kubeconfig-user-abcdefgh:0123456789abcdef"


contexts:
- name: "dev"
  context:
    user: "dev"
    cluster: "dev"

current-context: "dev"
`,
  'somebody by hand': `# The cluster under my desk
apiVersion: v1
kind: Config
current-context: desk   # the only one

clusters:
    - name: desk
      cluster:
          server: 'https://desk.local:6443'
          insecure-skip-tls-verify: true
users:
    -
        name: me
        user: { }
contexts:
    - name: desk
      context:
          cluster: desk
          user: me
          namespace: it's-mine
`,
}
