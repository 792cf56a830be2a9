/** Manifests that several lanes create. */

/** Objects of many kinds. */
export const SHOP = `
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  labels: {app: web, tier: front}
spec:
  containers:
  - name: web
    image: nginx:1.27
    ports: [{containerPort: 80, name: http}]
---
apiVersion: v1
kind: Pod
metadata:
  name: web-2
  labels: {app: web, tier: back}
  annotations: {note: second}
spec:
  restartPolicy: Never
  initContainers: [{name: init, image: busybox, command: [sh, -c, 'true']}]
  containers:
  - name: main
    image: nginx:1.26
    env: [{name: A, value: b}, {name: C, valueFrom: {configMapKeyRef: {name: settings, key: a}}}]
    resources: {limits: {cpu: 100m, memory: 64Mi}}
    readinessProbe: {httpGet: {path: /, port: 80}}
    volumeMounts: [{name: config, mountPath: /etc/config}]
  volumes: [{name: config, configMap: {name: settings}}]
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: '1', long: "line one\\nline two\\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: hidden}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1.27', ports: [{containerPort: 80}]}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: set}
spec:
  replicas: 1
  selector: {matchLabels: {app: set}}
  template:
    metadata: {labels: {app: set}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: 'postgres:16'}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {disk: ssd}, containers: [{name: agent, image: agent}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [date]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec:
  schedule: '*/5 * * * *'
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: OnFailure, containers: [{name: main, image: busybox}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: nginx
  rules:
  - host: example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: limited}
spec: {hard: {configmaps: '50'}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, max: {cpu: '2'}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}, {kind: ServiceAccount, name: robot, namespace: reading}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
---
apiVersion: v1
kind: Event
metadata: {name: web-1.1}
involvedObject: {apiVersion: v1, kind: Pod, name: web-1, namespace: reading}
reason: Started
message: Started container web
type: Normal
count: 3
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:00:00Z'
source: {component: kubelet}
`
