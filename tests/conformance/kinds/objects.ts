/** One object of each built-in kind, as small as the server accepts it, and variants that show its defaults. */
import type { Body } from '../api.ts'

/** An object to create, and what is written to its status. */
export interface Sample {
  readonly name: string
  /** `v1/pods` for a namespaced kind, `/v1/nodes` for a cluster-scoped one. */
  readonly resource: string
  readonly object: Body
  /** A status that is written after the create. */
  readonly status?: Body
}

export function collectionOf(resource: string): string {
  const isCluster = resource.startsWith('/')
  const parts = resource.replace(/^\//, '').split('/')
  const plural = parts.pop()!
  const root = parts.length === 1 ? `/api/${parts[0]}` : `/apis/${parts.join('/')}`
  return isCluster ? `${root}/${plural}` : `${root}/namespaces/{ns}/${plural}`
}

const CONTAINER = { name: 'main', image: 'nginx' }
const LABELS = { app: 'web' }
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [CONTAINER] } }
const JOB_TEMPLATE = { spec: { containers: [CONTAINER], restartPolicy: 'Never' } }
const TIME = '2026-01-01T00:00:00Z'

/** A request for the name `tester`, made by openssl. */
const REQUEST = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITE1ITUNBUUF3RVRFUE1BMEdBMVVFQXd3R2RHVnpkR1Z5TUZr',
  'd0V3WUhLb1pJemowQ0FRWUlLb1pJemowRApBUWNEUWdBRWJSNVl2LzJVZmE5MCs1YUNCaFFvdXdpNWM0dEtJMnV0YlBoTUZMYkxF',
  'aDg3eFJYdllsMXI2SGRjCk1HY0pKU3g1YWRUNlhidWRNK2xqZVkvMHVFV1NiNkFBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSUUr',
  'VkoxVDQKMktuWEYwNXRPSFRCWGdDaUc1ODZBdFhrOTRNU3dod2xhdHdnQWlFQWpTSzJJZHltS21oYWR5ekhGTnd1dTMwcwpiQ29I',
  'R1lXWUVWVkRwV0QxVEZVPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K',
].join('')

const HOOK = {
  name: 'hook.example.com',
  clientConfig: { service: { namespace: 'default', name: 'hook' } },
  rules: [{ apiGroups: ['x.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nones'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}

const MATCH = {
  resourceRules: [{ apiGroups: ['x.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nones'] }],
}

const sample = (name: string, resource: string, object: Body): Sample => ({ name, resource, object })

export const SAMPLES: readonly Sample[] = [
  sample('config map', 'v1/configmaps', { data: { a: '1', b: '2' }, binaryData: { c: 'AA==' } }),
  sample('endpoints', 'v1/endpoints', {
    subsets: [{
      addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }],
      ports: [{ port: 80, name: 'a' }, { port: 81, name: 'b' }],
    }],
  }),
  sample('limit range', 'v1/limitranges', {
    spec: { limits: [{ type: 'Container', max: { cpu: '1' }, min: { memory: '1Mi' } }] },
  }),
  sample('namespace', '/v1/namespaces', {}),
  {
    name: 'node',
    resource: '/v1/nodes',
    object: {
      metadata: { labels: { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'worker' } },
      spec: { unschedulable: true },
    },
    status: {
      capacity: { cpu: '2', memory: '1Gi' },
      conditions: [{ type: 'Ready', status: 'False', lastHeartbeatTime: TIME, lastTransitionTime: TIME }],
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }, { type: 'Hostname', address: 'n' }],
      nodeInfo: {
        kubeletVersion: 'v1.36.3',
        kernelVersion: '6.1',
        architecture: 'amd64',
        osImage: 'Linux',
        bootID: '',
        machineID: '',
        systemUUID: '',
        containerRuntimeVersion: '',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
      },
    },
  },
  sample('bare node', '/v1/nodes', {}),
  sample('claim', 'v1/persistentvolumeclaims', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
  {
    name: 'bound claim',
    resource: 'v1/persistentvolumeclaims',
    object: {
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        volumeMode: 'Block',
        volumeName: 'pv-1',
        resources: { requests: { storage: '1024Mi' } },
      },
    },
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], capacity: { storage: '2Gi' } },
  },
  sample('volume', '/v1/persistentvolumes', {
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } },
  }),
  {
    name: 'claimed volume',
    resource: '/v1/persistentvolumes',
    object: {
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
        storageClassName: 'slow',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { namespace: 'default', name: 'data' },
        csi: { driver: 'csi.example.com', volumeHandle: 'h' },
      },
    },
    status: { phase: 'Bound', reason: 'Because' },
  },
  sample('pod', 'v1/pods', { spec: { containers: [CONTAINER] } }),
  {
    name: 'pod with everything',
    resource: 'v1/pods',
    object: {
      metadata: { labels: LABELS },
      spec: {
        hostNetwork: true,
        serviceAccountName: 'robot',
        readinessGates: [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }],
        initContainers: [
          { name: 'setup', image: 'busybox:1.36', resources: { limits: { cpu: '100m' } } },
          { name: 'sidecar', image: 'busybox@sha256:' + '0'.repeat(64), restartPolicy: 'Always' },
        ],
        containers: [{
          name: 'main',
          image: 'example.com:5000/nginx:latest',
          ports: [{ containerPort: 80 }],
          env: [
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
            { name: 'C', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
          ],
          resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: '0.5' } },
          livenessProbe: { httpGet: { port: 80 } },
          readinessProbe: { grpc: { port: 81 }, timeoutSeconds: 5 },
          startupProbe: { tcpSocket: { port: 'http' } },
          lifecycle: { postStart: { httpGet: { port: 80 } }, preStop: { exec: { command: ['x'] } } },
          volumeMounts: [{ name: 'a', mountPath: '/a' }],
        }],
        volumes: [
          { name: 'a', configMap: { name: 'c' } },
          { name: 'b', secret: { secretName: 's' } },
          {
            name: 'c',
            projected: {
              sources: [
                { serviceAccountToken: { path: 't' } },
                { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } },
              ],
            },
          },
          { name: 'd', downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } },
          { name: 'e', hostPath: { path: '/e' } },
          { name: 'f' },
          { name: 'g', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'h', iscsi: { targetPortal: 'x', iqn: 'iqn.2001-04.com.example:storage', lun: 0 } },
          { name: 'i', rbd: { monitors: ['m'], image: 'i' } },
          { name: 'j', azureDisk: { diskName: 'd', diskURI: 'https://example.com/blobs/d.vhd' } },
          { name: 'k', scaleIO: { gateway: 'g', system: 's', secretRef: { name: 's' }, volumeName: 'v' } },
          {
            name: 'l',
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
              },
            },
          },
          { name: 'm', image: { reference: 'nginx' } },
        ],
        tolerations: [{ key: 'a', operator: 'Exists' }],
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
      },
    },
    status: {
      phase: 'Running',
      podIP: '192.0.2.7',
      podIPs: [{ ip: '192.0.2.7' }],
      hostIP: '192.0.2.1',
      hostIPs: [{ ip: '192.0.2.1' }],
      conditions: [{ type: 'example.com/a', status: 'True' }, { type: 'Ready', status: 'True' }],
      initContainerStatuses: [
        { name: 'setup', state: { terminated: { exitCode: 0 } }, restartCount: 1, ready: true, image: '', imageID: '' },
        {
          name: 'sidecar',
          state: { running: {} },
          started: true,
          restartCount: 2,
          ready: true,
          image: '',
          imageID: '',
        },
      ],
      containerStatuses: [
        { name: 'main', state: { running: {} }, restartCount: 0, ready: true, image: '', imageID: '' },
      ],
    },
  },
  {
    name: 'crashing pod',
    resource: 'v1/pods',
    object: { spec: { containers: [CONTAINER, { name: 'other', image: 'a:1' }] } },
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          name: 'main',
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 1 } },
          restartCount: 4,
          ready: false,
          image: '',
          imageID: '',
        },
        {
          name: 'other',
          state: { terminated: { exitCode: 3 } },
          restartCount: 1,
          ready: false,
          image: '',
          imageID: '',
        },
      ],
    },
  },
  {
    name: 'initializing pod',
    resource: 'v1/pods',
    object: {
      spec: { initContainers: [{ name: 'a', image: 'a' }, { name: 'b', image: 'b' }], containers: [CONTAINER] },
    },
    status: {
      phase: 'Pending',
      initContainerStatuses: [
        { name: 'a', state: { terminated: { exitCode: 2 } }, restartCount: 1, ready: false, image: '', imageID: '' },
      ],
    },
  },
  {
    name: 'finished pod',
    resource: 'v1/pods',
    object: { spec: { containers: [CONTAINER], restartPolicy: 'Never' } },
    status: {
      phase: 'Succeeded',
      containerStatuses: [{
        name: 'main',
        state: { terminated: { exitCode: 0, reason: 'Completed' } },
        restartCount: 0,
        ready: false,
        image: '',
        imageID: '',
      }],
    },
  },
  sample('pod template', 'v1/podtemplates', { template: TEMPLATE }),
  sample('replication controller', 'v1/replicationcontrollers', { spec: { template: TEMPLATE } }),
  {
    name: 'quota',
    resource: 'v1/resourcequotas',
    object: { spec: { hard: { pods: '10', 'limits.cpu': '2000m', 'requests.memory': '1Gi' } } },
    status: {
      hard: { pods: '10', 'limits.cpu': '2', 'requests.memory': '1Gi' },
      used: { pods: '1', 'limits.cpu': '1' },
    },
  },
  sample('secret', 'v1/secrets', { stringData: { a: 'b' }, data: { c: 'ZA==' } }),
  sample('typed secret', 'v1/secrets', { type: 'kubernetes.io/basic-auth', stringData: { username: 'u' } }),
  sample('service account', 'v1/serviceaccounts', {}),
  sample('service', 'v1/services', { spec: { selector: LABELS, ports: [{ port: 80 }] } }),
  sample('headless service', 'v1/services', { spec: { clusterIP: 'None', selector: LABELS } }),
  sample('node port service', 'v1/services', {
    spec: {
      type: 'NodePort',
      externalIPs: ['192.0.2.9'],
      sessionAffinity: 'ClientIP',
      ports: [{ name: 'a', port: 80, targetPort: 'http' }, {
        name: 'b',
        port: 53,
        protocol: 'UDP',
        appProtocol: 'x',
      }],
    },
  }),
  {
    name: 'load balancer',
    resource: 'v1/services',
    object: { spec: { type: 'LoadBalancer', ports: [{ port: 443 }] } },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.5' }, { hostname: 'lb.example.com' }] } },
  },
  sample('local load balancer', 'v1/services', {
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      allocateLoadBalancerNodePorts: false,
      ports: [{ port: 443 }],
    },
  }),
  sample('external name', 'v1/services', { spec: { type: 'ExternalName', externalName: 'example.com' } }),
  sample('core event', 'v1/events', {
    involvedObject: { kind: 'Pod', name: 'p', namespace: '{ns}', fieldPath: 'spec.containers{main}' },
    reason: 'Started',
    message: ' it runs ',
    type: 'Normal',
    source: { component: 'kubelet', host: 'n' },
    count: 3,
    firstTimestamp: TIME,
    lastTimestamp: TIME,
  }),
  sample('event', 'events.k8s.io/v1/events', {
    regarding: { kind: 'Pod', name: 'p', namespace: '{ns}' },
    reason: 'Started',
    action: 'Start',
    note: 'it runs',
    type: 'Normal',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/c',
    reportingInstance: 'c-1',
  }),
  sample('controller revision', 'apps/v1/controllerrevisions', {
    metadata: {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u', controller: true }],
    },
    revision: 3,
    data: { a: [1] },
  }),
  {
    name: 'daemon set',
    resource: 'apps/v1/daemonsets',
    object: { spec: { selector: { matchLabels: LABELS }, template: TEMPLATE } },
    status: { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 2, numberReady: 1 },
  },
  {
    name: 'deployment',
    resource: 'apps/v1/deployments',
    object: { spec: { selector: { matchLabels: LABELS }, template: TEMPLATE } },
    status: { observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1 },
  },
  sample('deployment with expressions', 'apps/v1/deployments', {
    spec: {
      replicas: 0,
      paused: true,
      strategy: { rollingUpdate: { maxSurge: 2 } },
      selector: {
        matchLabels: LABELS,
        matchExpressions: [{ key: 'app', operator: 'Exists' }, { key: 'a', operator: 'NotIn', values: ['y', 'x'] }],
      },
      template: {
        metadata: { labels: LABELS },
        spec: { containers: [CONTAINER, { name: 'b', image: 'b:1', resources: { limits: { cpu: '1' } } }] },
      },
    },
  }),
  sample('recreated deployment', 'apps/v1/deployments', {
    spec: { strategy: { type: 'Recreate' }, selector: { matchLabels: LABELS }, template: TEMPLATE },
  }),
  {
    name: 'replica set',
    resource: 'apps/v1/replicasets',
    object: { spec: { selector: { matchLabels: LABELS }, template: TEMPLATE } },
    status: { replicas: 1, readyReplicas: 1 },
  },
  {
    name: 'stateful set',
    resource: 'apps/v1/statefulsets',
    object: {
      spec: {
        serviceName: 'db',
        selector: { matchLabels: LABELS },
        template: TEMPLATE,
        volumeClaimTemplates: [{
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        }],
      },
    },
    status: { replicas: 1, readyReplicas: 1, availableReplicas: 1 },
  },
  sample('stateful set on delete', 'apps/v1/statefulsets', {
    spec: { updateStrategy: { type: 'OnDelete' }, selector: { matchLabels: LABELS }, template: TEMPLATE },
  }),
  {
    name: 'job',
    resource: 'batch/v1/jobs',
    object: { spec: { template: JOB_TEMPLATE } },
    status: { startTime: TIME, active: 1 },
  },
  sample('indexed job', 'batch/v1/jobs', {
    spec: {
      completionMode: 'Indexed',
      completions: 3,
      parallelism: 2,
      backoffLimitPerIndex: 1,
      podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
      template: { ...JOB_TEMPLATE, metadata: { labels: { a: 'b' } } },
    },
  }),
  sample('work queue', 'batch/v1/jobs', { spec: { parallelism: 3, suspend: true, template: JOB_TEMPLATE } }),
  sample('cron job', 'batch/v1/cronjobs', {
    spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: JOB_TEMPLATE } } },
  }),
  {
    name: 'suspended cron job',
    resource: 'batch/v1/cronjobs',
    object: {
      spec: {
        schedule: '@daily',
        timeZone: 'Etc/UTC',
        suspend: true,
        jobTemplate: { spec: { template: JOB_TEMPLATE } },
      },
    },
    status: { active: [{ kind: 'Job', name: 'j' }] },
  },
  sample('autoscaler', 'autoscaling/v2/horizontalpodautoscalers', {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
  }),
  {
    name: 'autoscaler with metrics',
    resource: 'autoscaling/v2/horizontalpodautoscalers',
    object: {
      spec: {
        minReplicas: 2,
        maxReplicas: 9,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
        behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
        metrics: [
          { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } },
          { type: 'Pods', pods: { metric: { name: 'qps' }, target: { type: 'AverageValue', averageValue: '1k' } } },
          {
            type: 'Object',
            object: {
              describedObject: { kind: 'Service', name: 's' },
              metric: { name: 'm', selector: { matchLabels: { a: 'b' } } },
              target: { type: 'Value', value: '5' },
            },
          },
          {
            type: 'External',
            external: { metric: { name: 'e' }, target: { type: 'AverageValue', averageValue: '7' } },
          },
          {
            type: 'ContainerResource',
            containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization', averageUtilization: 50 } },
          },
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
        ],
      },
    },
    status: {
      currentReplicas: 2,
      desiredReplicas: 3,
      conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: TIME, reason: 'R', message: 'm' }],
      currentMetrics: [
        { type: 'Resource', resource: { name: 'memory', current: { averageValue: '50Mi' } } },
        { type: 'Pods', pods: { metric: { name: 'qps' }, current: { averageValue: '2k' } } },
      ],
    },
  },
  {
    name: 'autoscaler v1',
    resource: 'autoscaling/v1/horizontalpodautoscalers',
    object: { spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } } },
    status: { currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 33 },
  },
  sample('autoscaler v1 with a target', 'autoscaling/v1/horizontalpodautoscalers', {
    spec: {
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 55,
      scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
    },
  }),
  sample('ingress class', '/networking.k8s.io/v1/ingressclasses', { spec: { controller: 'example.com/c' } }),
  sample('ingress class with parameters', '/networking.k8s.io/v1/ingressclasses', {
    metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
    spec: { controller: 'example.com/c', parameters: { apiGroup: 'example.com', kind: 'P', name: 'p' } },
  }),
  {
    name: 'ingress',
    resource: 'networking.k8s.io/v1/ingresses',
    object: {
      spec: {
        ingressClassName: 'c',
        tls: [{ hosts: ['a.example.com'], secretName: 't' }],
        rules: ['a', 'b', 'c', 'd'].map((host) => ({
          host: `${host}.example.com`,
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
          },
        })),
      },
    },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.5', ports: [{ port: 80, protocol: 'TCP' }] }] } },
  },
  sample('default backend', 'networking.k8s.io/v1/ingresses', {
    spec: { defaultBackend: { service: { name: 's', port: { name: 'http' } } } },
  }),
  sample('network policy', 'networking.k8s.io/v1/networkpolicies', {
    spec: {
      podSelector: { matchLabels: LABELS },
      ingress: [{ ports: [{ port: 80 }], from: [{ podSelector: {} }] }],
      egress: [{ to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }],
    },
  }),
  sample('closed network policy', 'networking.k8s.io/v1/networkpolicies', { spec: { podSelector: {} } }),
  sample('service range', '/networking.k8s.io/v1/servicecidrs', { spec: { cidrs: ['198.51.100.0/24'] } }),
  {
    name: 'disruption budget',
    resource: 'policy/v1/poddisruptionbudgets',
    object: { spec: { minAvailable: 1, selector: { matchLabels: LABELS } } },
    status: { disruptionsAllowed: 2, currentHealthy: 3, desiredHealthy: 1, expectedPods: 3 },
  },
  sample('disruption budget in percent', 'policy/v1/poddisruptionbudgets', {
    spec: { maxUnavailable: '20%', unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  }),
  sample('role', 'rbac.authorization.k8s.io/v1/roles', {}),
  sample('cluster role', '/rbac.authorization.k8s.io/v1/clusterroles', {
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  }),
  sample('aggregated cluster role', '/rbac.authorization.k8s.io/v1/clusterroles', {
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    rules: [],
  }),
  sample('role binding', 'rbac.authorization.k8s.io/v1/rolebindings', {
    roleRef: { kind: 'ClusterRole', name: 'view' },
    subjects: [
      { kind: 'User', name: 'ann' },
      { kind: 'User', name: 'bob' },
      { kind: 'Group', name: 'devs' },
      { kind: 'ServiceAccount', name: 'sa', namespace: 'default' },
    ],
  }),
  sample('cluster role binding', '/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' },
  }),
  sample('driver', '/storage.k8s.io/v1/csidrivers', {}),
  sample('driver with tokens', '/storage.k8s.io/v1/csidrivers', {
    spec: {
      attachRequired: false,
      podInfoOnMount: true,
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
    },
  }),
  sample('driver node', '/storage.k8s.io/v1/csinodes', {
    spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n', topologyKeys: ['zone'] }] },
  }),
  sample('storage capacity', 'storage.k8s.io/v1/csistoragecapacities', {
    storageClassName: 'fast',
    capacity: '1024Mi',
  }),
  sample('storage class', '/storage.k8s.io/v1/storageclasses', { provisioner: 'csi.example.com' }),
  sample('default storage class', '/storage.k8s.io/v1/storageclasses', {
    metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'csi.example.com',
    allowVolumeExpansion: true,
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'WaitForFirstConsumer',
  }),
  {
    name: 'volume attachment',
    resource: '/storage.k8s.io/v1/volumeattachments',
    object: { spec: { attacher: 'csi.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } } },
    status: { attached: true },
  },
  sample('volume attributes class', '/storage.k8s.io/v1/volumeattributesclasses', {
    driverName: 'csi.example.com',
    parameters: { iops: '1' },
  }),
  sample('priority class', '/scheduling.k8s.io/v1/priorityclasses', { value: 100 }),
  sample('priority class zero', '/scheduling.k8s.io/v1/priorityclasses', { preemptionPolicy: 'Never' }),
  sample('lease', 'coordination.k8s.io/v1/leases', { spec: { holderIdentity: 'me' } }),
  sample('empty lease', 'coordination.k8s.io/v1/leases', {}),
  sample('runtime class', '/node.k8s.io/v1/runtimeclasses', { handler: 'runsc' }),
  sample('endpoint slice', 'discovery.k8s.io/v1/endpointslices', {
    addressType: 'IPv4',
    ports: [{ port: 80 }, { name: 'b', port: 81, protocol: 'UDP' }],
    endpoints: [{ addresses: ['192.0.2.1', '192.0.2.2'] }, { addresses: ['192.0.2.3'] }, {
      addresses: ['192.0.2.4'],
    }],
  }),
  sample('empty endpoint slice', 'discovery.k8s.io/v1/endpointslices', { addressType: 'IPv6', endpoints: [] }),
  sample('device class', '/resource.k8s.io/v1/deviceclasses', {
    spec: { selectors: [{ cel: { expression: 'device.driver == "d"' } }] },
  }),
  sample('resource claim', 'resource.k8s.io/v1/resourceclaims', {
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } },
  }),
  sample('resource claim template', 'resource.k8s.io/v1/resourceclaimtemplates', {
    spec: {
      metadata: { labels: { a: 'b' } },
      spec: {
        devices: {
          requests: [{ name: 'r', firstAvailable: [{ name: 's', deviceClassName: 'c', allocationMode: 'All' }] }],
        },
      },
    },
  }),
  sample('resource slice', '/resource.k8s.io/v1/resourceslices', {
    spec: {
      driver: 'd.example.com',
      nodeName: 'n',
      pool: { name: 'n', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'd0', attributes: { model: { string: 'x' } }, capacity: { memory: { value: '1Gi' } } }],
    },
  }),
  sample('flow schema', '/flowcontrol.apiserver.k8s.io/v1/flowschemas', {
    spec: {
      priorityLevelConfiguration: { name: 'workload-low' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [{
        subjects: [{ kind: 'User', user: { name: 'ann' } }],
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
      }],
    },
  }),
  sample('priority level', '/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations', {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
  }),
  sample('rejecting priority level', '/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations', {
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
  }),
  sample('mutating webhook', '/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', { webhooks: [HOOK] }),
  sample('validating webhook', '/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    webhooks: [HOOK, { ...HOOK, name: 'b.example.com', timeoutSeconds: 3, failurePolicy: 'Ignore' }],
  }),
  sample('validating policy', '/admissionregistration.k8s.io/v1/validatingadmissionpolicies', {
    spec: {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: MATCH,
      validations: [{ expression: 'true' }],
    },
  }),
  sample('validating policy binding', '/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', {
    spec: {
      policyName: 'p',
      validationActions: ['Deny'],
      paramRef: { name: 'c', namespace: 'default', parameterNotFoundAction: 'Deny' },
      matchResources: MATCH,
    },
  }),
  sample('mutating policy', '/admissionregistration.k8s.io/v1/mutatingadmissionpolicies', {
    spec: {
      matchConstraints: MATCH,
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
    },
  }),
  sample('mutating policy binding', '/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings', {
    spec: { policyName: 'p' },
  }),
  sample('signing request', '/certificates.k8s.io/v1/certificatesigningrequests', {
    spec: { request: REQUEST, signerName: 'example.com/signer', usages: ['client auth'], expirationSeconds: 7200 },
  }),
]
