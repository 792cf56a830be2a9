/** What each built-in kind refuses at a create and at an update. */
import type { Body } from '../api.ts'

/** Objects that are created as dry runs, and merge patches of one object, in order. */
export interface RuleSample {
  readonly name: string
  readonly resource: string
  readonly object: Body
  readonly creates?: readonly Body[]
  readonly patches?: readonly Body[]
}

const CONTAINER = { name: 'main', image: 'nginx:1' }
const LABELS = { app: 'web' }
const pod = (spec: Body): Body => ({ spec: { containers: [CONTAINER], ...spec } })
const container = (more: Body): Body => ({ spec: { containers: [{ ...CONTAINER, ...more }] } })
const volume = (...volumes: Body[]): Body => pod({ volumes })
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [CONTAINER] } }
const workload = (more: Body = {}): Body => ({
  spec: { selector: { matchLabels: LABELS }, template: TEMPLATE, ...more },
})
const JOB_TEMPLATE = { spec: { containers: [CONTAINER], restartPolicy: 'Never' } }
const job = (more: Body = {}): Body => ({ spec: { template: JOB_TEMPLATE, ...more } })
const cron = (more: Body = {}): Body => ({
  spec: { schedule: '* * * * *', jobTemplate: { spec: { template: JOB_TEMPLATE } }, ...more },
})
const claim = (more: Body = {}): Body => ({
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more },
})
const persistentVolume = (more: Body = {}): Body => ({
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/tmp' }, ...more },
})
const service = (more: Body = {}): Body => ({ spec: { ports: [{ port: 80 }], ...more } })
const ingress = (...paths: Body[]): Body => ({ spec: { rules: [{ host: 'a.example.com', http: { paths } }] } })
const BACKEND = { service: { name: 's', port: { number: 80 } } }
const policy = (spec: Body): Body => ({ spec: { podSelector: {}, ...spec } })
const TARGET = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
const scaler = (spec: Body): Body => ({ spec: { maxReplicas: 3, scaleTargetRef: TARGET, ...spec } })
const budget = (spec: Body): Body => ({ spec: { selector: { matchLabels: LABELS }, ...spec } })
const role = (...rules: Body[]): Body => ({ rules })
const binding = (...subjects: Body[]): Body => ({ roleRef: { kind: 'Role', name: 'r' }, subjects })
const slice = (more: Body): Body => ({ addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.1'] }], ...more })

const rules = (
  name: string,
  resource: string,
  object: Body,
  more: Pick<RuleSample, 'creates' | 'patches'>,
): RuleSample => ({ name, resource, object, ...more })

export const RULE_SAMPLES: readonly RuleSample[] = [
  rules('pods', 'v1/pods', pod({}), {
    creates: [
      pod({ restartPolicy: 'Sometimes' }),
      pod({ terminationGracePeriodSeconds: -1 }),
      pod({ activeDeadlineSeconds: 0 }),
      pod({ priorityClassName: 'none' }),
      pod({ nodeSelector: { '-a': 'b' } }),
      pod({ serviceAccountName: 'Bad_Name' }),
      pod({ tolerations: [{ operator: 'Exists', value: 'x' }, { key: 'a', operator: 'Equals' }] }),
      pod({ tolerations: [{ key: 'a', operator: 'Exists', effect: 'Never' }] }),
      pod({ imagePullSecrets: [{ name: '' }] }),
      pod({ initContainers: [{ name: 'a', image: 'x', livenessProbe: { exec: { command: ['x'] } } }] }),
      container({ imagePullPolicy: 'Often' }),
      container({ image: ' nginx' }),
      container({ ports: [{ containerPort: 0 }] }),
      container({ ports: [{ containerPort: 70000, protocol: 'ICMP' }] }),
      container({ ports: [{ containerPort: 80, name: 'a' }, { containerPort: 81, name: 'a' }] }),
      container({ ports: [{ containerPort: 80, name: 'TOO_LONG_AND_WRONG' }] }),
      container({ env: [{ name: '' }] }),
      container({ env: [{ name: 'a=b' }] }),
      container({ env: [{ name: 'A', value: 'x', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] }),
      container({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.nothing' } } }] }),
      container({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: '', key: '' } } }] }),
      container({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
      container({ resources: { requests: { cpu: '-1' } } }),
      container({ resources: { requests: { apples: '1' } } }),
      container({ resources: { limits: { 'example.com/gpu': '1500m' } } }),
      container({ livenessProbe: {} }),
      container({ livenessProbe: { httpGet: { port: 80 }, tcpSocket: { port: 80 } } }),
      container({ livenessProbe: { httpGet: { port: 0 }, periodSeconds: -1 } }),
      container({ readinessProbe: { exec: { command: [] } } }),
      container({ volumeMounts: [{ name: 'a', mountPath: '' }] }),
      {
        spec: {
          volumes: [{ name: 'a' }],
          containers: [{
            ...CONTAINER,
            volumeMounts: [{ name: 'a', mountPath: '/a' }, { name: 'a', mountPath: '/a' }],
          }],
        },
      },
      {
        spec: {
          volumes: [{ name: 'a' }],
          containers: [{ ...CONTAINER, volumeMounts: [{ name: 'a', mountPath: '/a', subPath: '/x' }] }],
        },
      },
      container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      container({ securityContext: { runAsUser: -1 } }),
      volume({ name: 'a' }, { name: 'a' }),
      volume({ name: 'a', emptyDir: {}, hostPath: { path: '/x' } }),
      volume({ name: 'a', hostPath: { path: '' } }),
      volume({ name: 'a', hostPath: { path: '/a/../b', type: 'Nothing' } }),
      volume({ name: 'a', secret: {} }),
      volume({ name: 'a', secret: { secretName: 's', defaultMode: 1000 } }),
      volume({ name: 'a', configMap: { items: [{ key: 'k', path: '../x' }] } }),
      volume({ name: 'a', persistentVolumeClaim: { claimName: '' } }),
      pod({
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      }),
      pod({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Near', values: ['b'] }] }],
            },
          },
        },
      }),
      pod({
        affinity: {
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: '', labelSelector: {} }] },
        },
      }),
      pod({ topologySpreadConstraints: [{ maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'Never' }] }),
      pod({ dnsPolicy: 'None' }),
    ],
    patches: [
      { spec: { containers: [{ ...CONTAINER, image: 'nginx:2' }] } },
      { spec: { containers: [{ ...CONTAINER, image: '' }] } },
      { spec: { activeDeadlineSeconds: 10 } },
      { spec: { activeDeadlineSeconds: 20 } },
      { spec: { tolerations: [] } },
      { metadata: { labels: { a: 'b' } } },
    ],
  }),
  rules('services', 'v1/services', service({ selector: LABELS }), {
    creates: [
      service({ clusterIP: 'x' }),
      service({ clusterIP: 'None', type: 'NodePort' }),
      service({ sessionAffinity: 'Sometimes' }),
      service({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } }),
      service({ externalIPs: ['x', '127.0.0.1'] }),
      service({ type: 'ExternalName' }),
      service({ type: 'ExternalName', externalName: 'example.com', clusterIP: 'None' }),
      service({ type: 'NodePort', externalTrafficPolicy: 'Nowhere' }),
      service({ loadBalancerSourceRanges: ['192.0.2.0/24'] }),
      service({ type: 'LoadBalancer', loadBalancerSourceRanges: ['x'] }),
      service({ type: 'LoadBalancer', loadBalancerSourceRanges: ['192.0.2.1/24'] }),
      service({ ports: [{ port: 80, name: 'a' }, { port: 81, name: 'a' }] }),
      service({ ports: [{ port: 80, name: 'A_b' }] }),
      service({ ports: [{ port: 80, protocol: 'ICMP' }] }),
      service({ ports: [{ port: 80, nodePort: 30100 }] }),
    ],
    patches: [
      { spec: { clusterIP: '10.0.0.99' } },
      { spec: { clusterIP: null, clusterIPs: null } },
      { spec: { type: 'NodePort' } },
      { spec: { type: 'ClusterIP' } },
      { spec: { type: 'ExternalName', externalName: 'example.com' } },
    ],
  }),
  rules('deployments', 'apps/v1/deployments', workload(), {
    creates: [
      workload({ selector: { matchExpressions: [{ key: 'a b', operator: 'In', values: ['a', '/b'] }] } }),
      workload({ replicas: -1 }),
      workload({ revisionHistoryLimit: -1, minReadySeconds: -1 }),
      workload({ progressDeadlineSeconds: 5, minReadySeconds: 5 }),
      workload({ strategy: { type: 'Fast' } }),
      workload({ strategy: { type: 'Recreate', rollingUpdate: {} } }),
      workload({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
      workload({ strategy: { rollingUpdate: { maxSurge: 'x', maxUnavailable: '101%' } } }),
      workload({ strategy: { rollingUpdate: { maxSurge: -1 } } }),
      workload({ template: { ...TEMPLATE, spec: { ...TEMPLATE.spec, restartPolicy: 'Never' } } }),
      workload({ template: { ...TEMPLATE, spec: { ...TEMPLATE.spec, activeDeadlineSeconds: 5 } } }),
    ],
    patches: [
      { spec: { selector: { matchLabels: { app: 'web', more: 'x' } } } },
      { spec: { template: { metadata: { labels: { app: 'other' } } } } },
      { spec: { replicas: 3 } },
      { metadata: { annotations: { a: 'b' } } },
    ],
  }),
  rules('replica sets', 'apps/v1/replicasets', workload(), {
    creates: [
      workload({ replicas: -1, minReadySeconds: -1 }),
    ],
    patches: [{ spec: { selector: { matchLabels: { app: 'web', more: 'x' } } } }],
  }),
  rules('replication controllers', 'v1/replicationcontrollers', { spec: { selector: LABELS, template: TEMPLATE } }, {
    patches: [{ spec: { replicas: 2 } }],
  }),
  rules('stateful sets', 'apps/v1/statefulsets', workload({ serviceName: 's' }), {
    creates: [
      workload({ podManagementPolicy: 'Random' }),
      workload({ updateStrategy: { type: 'Random' } }),
      workload({ updateStrategy: { type: 'OnDelete', rollingUpdate: {} } }),
      workload({ updateStrategy: { rollingUpdate: { partition: -1 } } }),
      workload({ replicas: -1, minReadySeconds: -1 }),
      workload({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Never' } }),
      workload({ ordinals: { start: -1 } }),
      workload({ serviceName: 'Bad_Name' }),
      workload({ volumeClaimTemplates: [{ metadata: { name: 'a' }, spec: {} }] }),
    ],
    patches: [
      { spec: { replicas: 2, minReadySeconds: 3 } },
    ],
  }),
  rules('daemon sets', 'apps/v1/daemonsets', workload(), {
    creates: [
      workload({ updateStrategy: { type: 'Random' } }),
      workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
      workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } } }),
      workload({ minReadySeconds: -1, revisionHistoryLimit: -1 }),
    ],
    patches: [
      { spec: { selector: { matchLabels: { app: 'web', more: 'x' } } } },
      { spec: { template: { metadata: { labels: { app: 'web', b: 'c' } } } } },
    ],
  }),
  rules('controller revisions', 'apps/v1/controllerrevisions', { revision: 1, data: { a: 1 } }, {
    patches: [{ revision: 2 }],
  }),
  rules('jobs', 'batch/v1/jobs', job(), {
    creates: [
      job({ parallelism: -1, completions: -1, backoffLimit: -1, activeDeadlineSeconds: -1 }),
      job({ ttlSecondsAfterFinished: -1 }),
      job({ manualSelector: true }),
      job({ manualSelector: true, selector: { matchLabels: LABELS } }),
      job({ completionMode: 'Random' }),
      job({ completionMode: 'Indexed', parallelism: 2 }),
      job({ backoffLimitPerIndex: 1 }),
      job({ podReplacementPolicy: 'Never' }),
      job({ maxFailedIndexes: 2 }),
      job({ managedBy: 'a b' }),
      job({ successPolicy: { rules: [] } }),
    ],
    patches: [
      { spec: { template: { spec: { containers: [{ ...CONTAINER, image: 'other' }] } } } },
      { spec: { completions: 5 } },
      { spec: { selector: { matchLabels: LABELS } } },
      { spec: { completionMode: 'Indexed' } },
      { spec: { parallelism: 4 } },
      { spec: { suspend: true } },
      { spec: { backoffLimit: 2, activeDeadlineSeconds: 7, ttlSecondsAfterFinished: 4 } },
    ],
  }),
  rules('cron jobs', 'batch/v1/cronjobs', cron(), {
    creates: [
      cron({ timeZone: '' }),
      cron({ timeZone: 'Mars/Base' }),
      cron({ concurrencyPolicy: 'Maybe' }),
      cron({ startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 }),
      cron({ jobTemplate: { spec: { template: { spec: { containers: [CONTAINER] } } } } }),
      { ...cron(), metadata: { name: 'a'.repeat(53) } },
    ],
    patches: [{ spec: { schedule: '0 0 * * *', suspend: true } }, { spec: { schedule: 'x' } }],
  }),
  rules('config maps', 'v1/configmaps', { data: { a: '1' } }, {
    creates: [
      { data: { 'a b': '1' } },
      { data: { a: '1' }, binaryData: { a: 'AA==' } },
      { data: { '..': '1' } },
      { data: { '.': '2' } },
      { data: { ['k'.repeat(254)]: '1' } },
      { data: { a: 'ü'.repeat(2 ** 19 + 1) } },
      { binaryData: { a: `${'A'.repeat(4 * 2 ** 18)}AA==` } },
      { data: { a: 'a'.repeat(2 ** 18) }, binaryData: { b: `${'A'.repeat(2 ** 20)}AA==` } },
    ],
    patches: [
      { immutable: true },
      { data: { a: '2' } },
      { immutable: false },
      { binaryData: { b: 'AA==' } },
      { metadata: { labels: { a: 'b' } } },
    ],
  }),
  rules('secrets', 'v1/secrets', { stringData: { a: '1' } }, {
    creates: [
      { stringData: { 'a b': '1' } },
      { type: 'kubernetes.io/tls', stringData: { a: 'a'.repeat(2 ** 20 + 1) } },
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': 'x' } },
      { type: 'kubernetes.io/dockercfg', stringData: { '.dockercfg': '{' } },
      { type: 'kubernetes.io/service-account-token' },
      { type: 'bootstrap.kubernetes.io/token' },
    ],
    patches: [
      { type: 'other' },
      { stringData: { b: '2' } },
      { immutable: true },
      { stringData: { b: '3' } },
      { immutable: null },
    ],
  }),
  rules('claims', 'v1/persistentvolumeclaims', claim(), {
    creates: [
      claim({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }),
      claim({ resources: { requests: { storage: '0' } } }),
      claim({ resources: { requests: { storage: '-1' } } }),
      claim({ storageClassName: 'Bad_Name' }),
      claim({ volumeMode: 'Cloud' }),
      claim({ selector: { matchLabels: { 'a b': 'c' } } }),
    ],
    patches: [
      { spec: { volumeName: 'pv' } },
      { spec: { storageClassName: 'fast' } },
      { spec: { volumeMode: 'Block' } },
    ],
  }),
  rules('volumes', '/v1/persistentvolumes', persistentVolume(), {
    creates: [
      persistentVolume({ persistentVolumeReclaimPolicy: 'Keep' }),
      persistentVolume({ nfs: { server: 's', path: '/p' } }),
      persistentVolume({ volumeMode: 'Cloud' }),
      persistentVolume({ storageClassName: 'Bad_Name' }),
      { spec: { ...persistentVolume().spec, hostPath: null, csi: { driver: '', volumeHandle: '' } } },
      { spec: { ...persistentVolume().spec, hostPath: null, local: { path: '/x' } } },
    ],
    patches: [
      { spec: { hostPath: { path: '/other' } } },
      { spec: { volumeMode: 'Block' } },
      { spec: { capacity: { storage: '2Gi' }, persistentVolumeReclaimPolicy: 'Delete' } },
    ],
  }),
  rules('namespaces', '/v1/namespaces', {}, {
    creates: [{ metadata: { name: 'a.b' } }, { metadata: { name: 'a'.repeat(64) } }],
    patches: [{ spec: { finalizers: ['example.com/x'] } }, {
      metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } },
    }],
  }),
  rules('nodes', '/v1/nodes', { spec: { podCIDR: '192.0.2.0/24', podCIDRs: ['192.0.2.0/24'] } }, {
    creates: [],
    patches: [
      { spec: { unschedulable: true } },
    ],
  }),
  rules('endpoints', 'v1/endpoints', {}, {
    creates: [
      { subsets: [{ addresses: [{ ip: 'x' }], ports: [{ port: 80 }] }] },
      { subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: 0 }] }] },
    ],
    patches: [],
  }),
  rules('limit ranges', 'v1/limitranges', { spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } }, {
    patches: [],
  }),
  rules('pod templates', 'v1/podtemplates', { template: TEMPLATE }, {
    patches: [{ template: { metadata: { labels: { b: 'c' } } } }],
  }),
  rules('ingresses', 'networking.k8s.io/v1/ingresses', ingress({ path: '/', pathType: 'Prefix', backend: BACKEND }), {
    creates: [
      ingress({ path: 'x', pathType: 'Prefix', backend: BACKEND }),
      ingress({ path: '/a//b', pathType: 'Exact', backend: BACKEND }),
      ingress({ path: '/', backend: BACKEND }),
      ingress({ path: '/', pathType: 'Regex', backend: BACKEND }),
      ingress({ path: '/', pathType: 'Prefix', backend: { service: { name: '', port: {} } } }),
      ingress({ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { name: 'a', number: 1 } } } }),
      { spec: { rules: [{ host: '*.*.example.com' }] } },
      { spec: { ingressClassName: 'Bad_Name', defaultBackend: BACKEND } },
      { spec: { tls: [{ hosts: ['a_b'], secretName: 'Bad_Name' }], defaultBackend: BACKEND } },
    ],
    patches: [{ spec: { rules: null, defaultBackend: BACKEND } }],
  }),
  rules('ingress classes', '/networking.k8s.io/v1/ingressclasses', { spec: { controller: 'example.com/c' } }, {
    creates: [
      {},
      { spec: { controller: 'nothing' } },
    ],
    patches: [{ spec: { controller: 'example.com/other' } }, { spec: { parameters: { kind: 'K', name: 'n' } } }],
  }),
  rules('network policies', 'networking.k8s.io/v1/networkpolicies', policy({}), {
    creates: [
      policy({ podSelector: { matchLabels: { 'a b': 'c' } } }),
      policy({ policyTypes: ['Sideways'] }),
      policy({ policyTypes: ['Ingress', 'Egress', 'Ingress'] }),
      policy({ ingress: [{ from: [{}] }] }),
      policy({ ingress: [{ from: [{ ipBlock: { cidr: 'x' } }] }] }),
      policy({ ingress: [{ from: [{ ipBlock: { cidr: '::/0', except: ['fd00::1/64', '::ffff:10.0.0.0/104'] } }] }] }),
      policy({ ingress: [{ from: [{ podSelector: {}, ipBlock: { cidr: '192.0.2.0/24' } }] }] }),
      policy({ ingress: [{ ports: [{ port: 0 }] }] }),
      policy({ ingress: [{ ports: [{ port: 'TOO_LONG_NAME_OF_A_PORT' }] }] }),
      policy({ egress: [{ ports: [{ protocol: 'ICMP' }] }] }),
      policy({ egress: [{ ports: [{ port: 10, endPort: 5 }] }] }),
      policy({ egress: [{ ports: [{ endPort: 5 }] }] }),
    ],
    patches: [{ spec: { policyTypes: ['Egress'] } }],
  }),
  rules('disruption budgets', 'policy/v1/poddisruptionbudgets', budget({ minAvailable: 1 }), {
    creates: [
      {},
      budget({ minAvailable: 1, maxUnavailable: 1 }),
    ],
    patches: [{ spec: { minAvailable: 2 } }, { spec: { selector: { matchLabels: { b: 'c' } } } }],
  }),
  rules('autoscalers', 'autoscaling/v2/horizontalpodautoscalers', scaler({}), {
    creates: [
      scaler({ scaleTargetRef: { kind: 'A/b', name: 'a/b' } }),
      scaler({ metrics: [{ type: 'Resource' }] }),
      scaler({ metrics: [{ type: 'Resource', resource: { name: '', target: { type: 'Utilization' } } }] }),
      scaler({
        metrics: [{
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 0 } },
        }],
      }),
      scaler({ metrics: [{ type: 'Pods', pods: { metric: { name: '' }, target: { type: 'Value', value: '1' } } }] }),
    ],
    patches: [{ spec: { maxReplicas: 9 } }],
  }),
  rules('roles', 'rbac.authorization.k8s.io/v1/roles', role(), {
    creates: [
      role({ apiGroups: [''], resources: ['pods'] }),
      role({ verbs: ['get'], resources: ['pods'] }),
      role({ verbs: ['get'], apiGroups: [''] }),
      role({ verbs: ['get'], nonResourceURLs: ['/x'] }),
      { metadata: { name: 'a/b' } },
    ],
    patches: [{ rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] }],
  }),
  rules('cluster roles', '/rbac.authorization.k8s.io/v1/clusterroles', role(), {
    creates: [
      role({ verbs: ['get'], nonResourceURLs: ['/x'], resources: ['pods'], apiGroups: [''] }),
    ],
  }),
  rules('role bindings', 'rbac.authorization.k8s.io/v1/rolebindings', binding(), {
    creates: [
      { roleRef: { apiGroup: 'x', kind: 'Role', name: 'a/b' } },
      binding({ kind: 'ServiceAccount', name: 'a' }),
      binding({ kind: 'ServiceAccount', name: 'Bad_Name', namespace: 'x' }),
      binding({ kind: 'ServiceAccount', name: 'a', namespace: 'x', apiGroup: 'y' }),
      binding({ kind: 'User', name: 'a', apiGroup: 'y' }),
    ],
    patches: [{ subjects: [{ kind: 'User', name: 'ann' }] }],
  }),
  rules('cluster role bindings', '/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    roleRef: { kind: 'ClusterRole', name: 'r' },
  }, {}),
  rules('storage classes', '/storage.k8s.io/v1/storageclasses', {
    provisioner: 'example.com/p',
    parameters: { a: 'b' },
  }, {
    patches: [
      { parameters: { a: 'c' } },
      { provisioner: 'other' },
      { reclaimPolicy: 'Retain' },
      { volumeBindingMode: 'WaitForFirstConsumer' },
      { allowVolumeExpansion: true, mountOptions: ['ro'] },
    ],
  }),
  rules('priority classes', '/scheduling.k8s.io/v1/priorityclasses', { value: 5 }, {
    creates: [
      { value: 2000000000 },
    ],
    patches: [{ value: 6 }, { preemptionPolicy: 'Never' }, { description: 'x' }],
  }),
  rules('leases', 'coordination.k8s.io/v1/leases', {}, {
    creates: [
      { spec: { leaseDurationSeconds: 0 } },
      { spec: { leaseTransitions: -1 } },
      { spec: { holderIdentity: '' } },
      { spec: { strategy: 'OldestEmulationVersion' } },
      { spec: { preferredHolder: 'x' } },
    ],
    patches: [{ spec: { holderIdentity: 'me' } }],
  }),
  rules('runtime classes', '/node.k8s.io/v1/runtimeclasses', { handler: 'runsc' }, {
    patches: [{ handler: 'other' }],
  }),
  rules('endpoint slices', 'discovery.k8s.io/v1/endpointslices', slice({}), {
    creates: [
      slice({ endpoints: [{ addresses: ['2001:db8::1'] }] }),
      slice({ addressType: 'IPv6', endpoints: [{ addresses: ['192.0.2.1'] }] }),
      slice({ ports: [{ name: 'A_b', port: 1, protocol: 'X' }] }),
      slice({ endpoints: [{ addresses: ['192.0.2.1'], hostname: 'A_b' }] }),
    ],
    patches: [{ ports: [{ port: 80 }] }, { endpoints: [{ addresses: ['2001:db8::1'] }] }],
  }),
]
