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

export const SAMPLES: readonly Sample[] = [
  { name: 'config map', resource: 'v1/configmaps', object: { data: { a: '1', b: '2' }, binaryData: { c: 'AA==' } } },
  {
    name: 'endpoints',
    resource: 'v1/endpoints',
    object: {
      subsets: [{
        addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }],
        ports: [{ port: 80, name: 'a' }, { port: 81, name: 'b' }],
      }],
    },
  },
  {
    name: 'limit range',
    resource: 'v1/limitranges',
    object: { spec: { limits: [{ type: 'Container', max: { cpu: '1' }, min: { memory: '1Mi' } }] } },
  },
  { name: 'namespace', resource: '/v1/namespaces', object: {} },
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
  { name: 'bare node', resource: '/v1/nodes', object: {} },
  {
    name: 'claim',
    resource: 'v1/persistentvolumeclaims',
    object: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  },
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
  {
    name: 'volume',
    resource: '/v1/persistentvolumes',
    object: { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } } },
  },
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
  { name: 'pod', resource: 'v1/pods', object: { spec: { containers: [CONTAINER] } } },
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
  { name: 'pod template', resource: 'v1/podtemplates', object: { template: TEMPLATE } },
  { name: 'replication controller', resource: 'v1/replicationcontrollers', object: { spec: { template: TEMPLATE } } },
  {
    name: 'quota',
    resource: 'v1/resourcequotas',
    object: { spec: { hard: { pods: '10', 'limits.cpu': '2000m', 'requests.memory': '1Gi' } } },
    status: {
      hard: { pods: '10', 'limits.cpu': '2', 'requests.memory': '1Gi' },
      used: { pods: '1', 'limits.cpu': '1' },
    },
  },
  { name: 'secret', resource: 'v1/secrets', object: { stringData: { a: 'b' }, data: { c: 'ZA==' } } },
  {
    name: 'typed secret',
    resource: 'v1/secrets',
    object: { type: 'kubernetes.io/basic-auth', stringData: { username: 'u' } },
  },
  { name: 'service account', resource: 'v1/serviceaccounts', object: {} },
  { name: 'service', resource: 'v1/services', object: { spec: { selector: LABELS, ports: [{ port: 80 }] } } },
  { name: 'headless service', resource: 'v1/services', object: { spec: { clusterIP: 'None', selector: LABELS } } },
  {
    name: 'node port service',
    resource: 'v1/services',
    object: {
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
    },
  },
  {
    name: 'load balancer',
    resource: 'v1/services',
    object: { spec: { type: 'LoadBalancer', ports: [{ port: 443 }] } },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.5' }, { hostname: 'lb.example.com' }] } },
  },
  {
    name: 'local load balancer',
    resource: 'v1/services',
    object: {
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        allocateLoadBalancerNodePorts: false,
        ports: [{ port: 443 }],
      },
    },
  },
  {
    name: 'external name',
    resource: 'v1/services',
    object: { spec: { type: 'ExternalName', externalName: 'example.com' } },
  },
  {
    name: 'core event',
    resource: 'v1/events',
    object: {
      involvedObject: { kind: 'Pod', name: 'p', namespace: '{ns}', fieldPath: 'spec.containers{main}' },
      reason: 'Started',
      message: ' it runs ',
      type: 'Normal',
      source: { component: 'kubelet', host: 'n' },
      count: 3,
      firstTimestamp: TIME,
      lastTimestamp: TIME,
    },
  },
  {
    name: 'event',
    resource: 'events.k8s.io/v1/events',
    object: {
      regarding: { kind: 'Pod', name: 'p', namespace: '{ns}' },
      reason: 'Started',
      action: 'Start',
      note: 'it runs',
      type: 'Normal',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'c-1',
    },
  },
  {
    name: 'controller revision',
    resource: 'apps/v1/controllerrevisions',
    object: {
      metadata: {
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u', controller: true }],
      },
      revision: 3,
      data: { a: [1] },
    },
  },
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
  {
    name: 'deployment with expressions',
    resource: 'apps/v1/deployments',
    object: {
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
    },
  },
  {
    name: 'recreated deployment',
    resource: 'apps/v1/deployments',
    object: { spec: { strategy: { type: 'Recreate' }, selector: { matchLabels: LABELS }, template: TEMPLATE } },
  },
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
  {
    name: 'stateful set on delete',
    resource: 'apps/v1/statefulsets',
    object: { spec: { updateStrategy: { type: 'OnDelete' }, selector: { matchLabels: LABELS }, template: TEMPLATE } },
  },
  {
    name: 'job',
    resource: 'batch/v1/jobs',
    object: { spec: { template: JOB_TEMPLATE } },
    status: { startTime: TIME, active: 1 },
  },
  {
    name: 'indexed job',
    resource: 'batch/v1/jobs',
    object: {
      spec: {
        completionMode: 'Indexed',
        completions: 3,
        parallelism: 2,
        backoffLimitPerIndex: 1,
        podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
        template: { ...JOB_TEMPLATE, metadata: { labels: { a: 'b' } } },
      },
    },
  },
  {
    name: 'work queue',
    resource: 'batch/v1/jobs',
    object: { spec: { parallelism: 3, suspend: true, template: JOB_TEMPLATE } },
  },
  {
    name: 'cron job',
    resource: 'batch/v1/cronjobs',
    object: { spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: JOB_TEMPLATE } } } },
  },
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
  {
    name: 'autoscaler',
    resource: 'autoscaling/v2/horizontalpodautoscalers',
    object: { spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } } },
  },
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
  {
    name: 'autoscaler v1 with a target',
    resource: 'autoscaling/v1/horizontalpodautoscalers',
    object: {
      spec: {
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 55,
        scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
      },
    },
  },
  {
    name: 'ingress class',
    resource: '/networking.k8s.io/v1/ingressclasses',
    object: { spec: { controller: 'example.com/c' } },
  },
  {
    name: 'ingress class with parameters',
    resource: '/networking.k8s.io/v1/ingressclasses',
    object: {
      metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: { controller: 'example.com/c', parameters: { apiGroup: 'example.com', kind: 'P', name: 'p' } },
    },
  },
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
  {
    name: 'default backend',
    resource: 'networking.k8s.io/v1/ingresses',
    object: { spec: { defaultBackend: { service: { name: 's', port: { name: 'http' } } } } },
  },
  {
    name: 'network policy',
    resource: 'networking.k8s.io/v1/networkpolicies',
    object: {
      spec: {
        podSelector: { matchLabels: LABELS },
        ingress: [{ ports: [{ port: 80 }], from: [{ podSelector: {} }] }],
        egress: [{ to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }],
      },
    },
  },
  {
    name: 'closed network policy',
    resource: 'networking.k8s.io/v1/networkpolicies',
    object: { spec: { podSelector: {} } },
  },
  {
    name: 'service range',
    resource: '/networking.k8s.io/v1/servicecidrs',
    object: { spec: { cidrs: ['198.51.100.0/24'] } },
  },
  {
    name: 'disruption budget',
    resource: 'policy/v1/poddisruptionbudgets',
    object: { spec: { minAvailable: 1, selector: { matchLabels: LABELS } } },
    status: { disruptionsAllowed: 2, currentHealthy: 3, desiredHealthy: 1, expectedPods: 3 },
  },
  {
    name: 'disruption budget in percent',
    resource: 'policy/v1/poddisruptionbudgets',
    object: { spec: { maxUnavailable: '20%', unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
  },
  { name: 'role', resource: 'rbac.authorization.k8s.io/v1/roles', object: {} },
  {
    name: 'cluster role',
    resource: '/rbac.authorization.k8s.io/v1/clusterroles',
    object: { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
  },
  {
    name: 'aggregated cluster role',
    resource: '/rbac.authorization.k8s.io/v1/clusterroles',
    object: { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }, rules: [] },
  },
  {
    name: 'role binding',
    resource: 'rbac.authorization.k8s.io/v1/rolebindings',
    object: {
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects: [
        { kind: 'User', name: 'ann' },
        { kind: 'User', name: 'bob' },
        { kind: 'Group', name: 'devs' },
        { kind: 'ServiceAccount', name: 'sa', namespace: 'default' },
      ],
    },
  },
  {
    name: 'cluster role binding',
    resource: '/rbac.authorization.k8s.io/v1/clusterrolebindings',
    object: { roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' } },
  },
  { name: 'driver', resource: '/storage.k8s.io/v1/csidrivers', object: {} },
  {
    name: 'driver with tokens',
    resource: '/storage.k8s.io/v1/csidrivers',
    object: {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
      },
    },
  },
  {
    name: 'driver node',
    resource: '/storage.k8s.io/v1/csinodes',
    object: { spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n', topologyKeys: ['zone'] }] } },
  },
  {
    name: 'storage capacity',
    resource: 'storage.k8s.io/v1/csistoragecapacities',
    object: { storageClassName: 'fast', capacity: '1024Mi' },
  },
  { name: 'storage class', resource: '/storage.k8s.io/v1/storageclasses', object: { provisioner: 'csi.example.com' } },
  {
    name: 'default storage class',
    resource: '/storage.k8s.io/v1/storageclasses',
    object: {
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'csi.example.com',
      allowVolumeExpansion: true,
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'WaitForFirstConsumer',
    },
  },
  {
    name: 'volume attachment',
    resource: '/storage.k8s.io/v1/volumeattachments',
    object: { spec: { attacher: 'csi.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } } },
    status: { attached: true },
  },
  {
    name: 'volume attributes class',
    resource: '/storage.k8s.io/v1/volumeattributesclasses',
    object: { driverName: 'csi.example.com', parameters: { iops: '1' } },
  },
  { name: 'priority class', resource: '/scheduling.k8s.io/v1/priorityclasses', object: { value: 100 } },
  {
    name: 'priority class zero',
    resource: '/scheduling.k8s.io/v1/priorityclasses',
    object: { preemptionPolicy: 'Never' },
  },
  { name: 'lease', resource: 'coordination.k8s.io/v1/leases', object: { spec: { holderIdentity: 'me' } } },
  { name: 'empty lease', resource: 'coordination.k8s.io/v1/leases', object: {} },
  { name: 'runtime class', resource: '/node.k8s.io/v1/runtimeclasses', object: { handler: 'runsc' } },
  {
    name: 'endpoint slice',
    resource: 'discovery.k8s.io/v1/endpointslices',
    object: {
      addressType: 'IPv4',
      ports: [{ port: 80 }, { name: 'b', port: 81, protocol: 'UDP' }],
      endpoints: [{ addresses: ['192.0.2.1', '192.0.2.2'] }, { addresses: ['192.0.2.3'] }, {
        addresses: ['192.0.2.4'],
      }],
    },
  },
  {
    name: 'empty endpoint slice',
    resource: 'discovery.k8s.io/v1/endpointslices',
    object: { addressType: 'IPv6', endpoints: [] },
  },
  {
    name: 'device class',
    resource: '/resource.k8s.io/v1/deviceclasses',
    object: { spec: { selectors: [{ cel: { expression: 'device.driver == "d"' } }] } },
  },
  {
    name: 'resource claim',
    resource: 'resource.k8s.io/v1/resourceclaims',
    object: { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } } },
  },
  {
    name: 'resource claim template',
    resource: 'resource.k8s.io/v1/resourceclaimtemplates',
    object: {
      spec: {
        metadata: { labels: { a: 'b' } },
        spec: {
          devices: {
            requests: [{ name: 'r', firstAvailable: [{ name: 's', deviceClassName: 'c', allocationMode: 'All' }] }],
          },
        },
      },
    },
  },
  {
    name: 'resource slice',
    resource: '/resource.k8s.io/v1/resourceslices',
    object: {
      spec: {
        driver: 'd.example.com',
        nodeName: 'n',
        pool: { name: 'n', generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'd0', attributes: { model: { string: 'x' } }, capacity: { memory: { value: '1Gi' } } }],
      },
    },
  },
  {
    name: 'flow schema',
    resource: '/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    object: {
      spec: {
        priorityLevelConfiguration: { name: 'workload-low' },
        distinguisherMethod: { type: 'ByUser' },
        rules: [{
          subjects: [{ kind: 'User', user: { name: 'ann' } }],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
        }],
      },
    },
  },
  {
    name: 'priority level',
    resource: '/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    object: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
  },
  {
    name: 'rejecting priority level',
    resource: '/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    object: { spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } } },
  },
  {
    name: 'mutating webhook',
    resource: '/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
    object: { webhooks: [HOOK] },
  },
  {
    name: 'validating webhook',
    resource: '/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    object: { webhooks: [HOOK, { ...HOOK, name: 'b.example.com', timeoutSeconds: 3, failurePolicy: 'Ignore' }] },
  },
  {
    name: 'validating policy',
    resource: '/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    object: {
      spec: {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints: MATCH,
        validations: [{ expression: 'true' }],
      },
    },
  },
  {
    name: 'validating policy binding',
    resource: '/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    object: {
      spec: {
        policyName: 'p',
        validationActions: ['Deny'],
        paramRef: { name: 'c', namespace: 'default', parameterNotFoundAction: 'Deny' },
        matchResources: MATCH,
      },
    },
  },
  {
    name: 'mutating policy',
    resource: '/admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
    object: {
      spec: {
        matchConstraints: MATCH,
        reinvocationPolicy: 'Never',
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
      },
    },
  },
  {
    name: 'mutating policy binding',
    resource: '/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings',
    object: { spec: { policyName: 'p' } },
  },
  {
    name: 'signing request',
    resource: '/certificates.k8s.io/v1/certificatesigningrequests',
    object: {
      spec: { request: REQUEST, signerName: 'example.com/signer', usages: ['client auth'], expirationSeconds: 7200 },
    },
  },
]
