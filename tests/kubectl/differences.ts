/** The differences between the two servers that stay, by step. `docs/embedded-api.md` has them, too. */

/** A difference that stays. */
export interface Difference {
  readonly reason: string
  /** The steps, by name. */
  readonly steps: readonly string[]
  /** What differs: these parts are cut out of all outputs, and the rest must be equal. Default: the whole output. */
  readonly cut?: RegExp
}

export const DIFFERENCES: readonly Difference[] = [
  {
    reason: 'the version says which server it is, and that it was not built with Go',
    steps: ['discovery: version', 'discovery: version -o json', 'discovery: get --raw /version'],
    cut: /\+kubeloop|^ *"(gitCommit|buildDate|goVersion|compiler|platform)":.*\n/gm,
  },
  {
    reason: 'there are no OpenAPI v2 documents; kubectl needs them for this form alone',
    steps: ['discovery: explain ingress.spec --output=plaintext-openapiv2'],
  },
  {
    reason: 'quotas are counted: the real server of the suite has no controller that does it',
    steps: [
      'creating: create quota limited --hard=pods=5,services=2,cpu=1 -o yaml',
      'creating: get secrets,ingresses,pdb,quota,roles,rolebindings,serviceaccounts',
      'describing: describe namespace describing',
      'describing: describe quota limited',
      'reading: get -f shop.yaml',
      'reading: get pdb,quota,limits',
    ],
    cut: /^resourcequota\/.*\n|^status:.*\n(?: {2}.*\n)*|^ *configmaps +\d+ +50\n/gm,
  },
  {
    reason: 'the ports of nodes are not allocated, so two services may have the same',
    steps: ['creating: create service nodeport taken --tcp=80 --node-port=30999'],
  },
  {
    reason: 'the service with the port of another one exists',
    steps: ['creating: get all'],
    cut: /^service\/taken .*\n/gm,
  },
  {
    reason: 'the finalizers that protect volumes in use need a controller that removes them',
    steps: [
      'describing: describe pvc data',
      'describing: describe pv describing-volume',
      'describing: describe -f volume.yaml',
    ],
    cut: /^Finalizers: .*\n/gm,
  },
  {
    reason: 'without a finalizer, the volume is deleted at once',
    steps: [`describing: patch pv describing-volume --type=merge -p '{"metadata":{"finalizers":null}}'`],
  },
  {
    reason: 'the taint of a new node needs a controller that removes it',
    steps: ['nodes: get node nodes-a -o yaml', 'nodes: describe node nodes-a'],
    cut: /^ {2}taints:\n {2}- effect: NoSchedule\n {4}key: node.kubernetes.io\/not-ready\n|^Taints: .*\n/gm,
  },
  {
    reason: 'spec.podCIDRs of a node is not filled in from spec.podCIDR',
    steps: ['nodes: get node nodes-a -o yaml', 'nodes: describe node nodes-a'],
    cut: /^ {2}podCIDRs:\n {2}- 10\.200\.0\.0\/24\n|^PodCIDRs: .*\n/gm,
  },
  {
    reason: 'the QoS class ignores init containers',
    steps: [
      'reading: get pods web-2 -o json',
      'reading: get pods -o yaml',
      'describing: describe pods web-2',
      'describing: describe pods -l app=web --show-events=false',
      'describing: describe pods we',
    ],
    cut: /^ *"qosClass": .*\n|^ *qosClass: .*\n|^QoS Class: .*\n/gm,
  },
  { reason: 'flow schemas are listed by name, not by precedence', steps: ['discovery: get flowschemas'] },
  {
    reason: 'the message has the object as JSON, not the patch as a Go map',
    steps: ['files: apply -f unknown.yaml'],
    cut: /^The request is invalid: patch: .*\n/gm,
  },
  {
    reason: 'the real server reads its user from a file, which has a uid',
    steps: ['access: auth whoami', 'access: auth whoami -o json'],
    cut: /^UID +<user>\n|^ *"uid": "<user>",\n/gm,
  },
  {
    reason: 'there are no kubelets to connect to',
    steps: [
      'nodes: exec loose -- date',
      'nodes: attach loose',
      'nodes: cp file loose:/tmp/file',
      'nodes: get --raw /api/v1/nodes/nodes-a/proxy/healthz',
    ],
  },
]
