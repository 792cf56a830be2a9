/** Custom resources: the definition, and each command on its objects. */
import type { Lane } from '../session.ts'

const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.custom.example.com}
spec:
  group: custom.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [tabs]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    additionalPrinterColumns:
    - {name: Schedule, type: string, jsonPath: .spec.schedule}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Image, type: string, jsonPath: .spec.image, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    selectableFields: [{jsonPath: .spec.schedule}]
    schema:
      openAPIV3Schema:
        type: object
        description: A table of commands and times.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [schedule]
            properties:
              schedule: {type: string, description: When it runs., minLength: 3}
              image: {type: string, default: busybox}
              replicas: {type: integer, minimum: 0, maximum: 10}
              policy: {type: string, enum: [Allow, Forbid]}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
`

const tab = (name: string, spec: string): string =>
  `apiVersion: custom.example.com/v1\nkind: CronTab\nmetadata: {name: ${name}}\nspec: ${spec}\n`

export const CUSTOM: Lane = {
  name: 'custom',
  files: {
    'crd.yaml': CRD,
    'one.yaml': tab('one', '{schedule: "* * *", replicas: 2, ports: [{name: a, port: 1}]}'),
    'one2.yaml': tab('one', '{schedule: "0 * *", ports: [{name: b, port: 2}]}'),
    'two.yaml': tab('two', '{schedule: daily, image: nginx, policy: Allow}'),
    'bad.yaml': tab('bad', '{schedule: a, replicas: 11, policy: Never}'),
    'unknown.yaml': tab('unknown', '{schedule: daily, shedule: x, ports: [{name: a, por: 1}]}'),
    'type.yaml': tab('type', '{schedule: 5, replicas: "two"}'),
    'server.yaml': tab('server', '{schedule: daily, ports: [{name: a, port: 1}]}'),
    'server2.yaml': tab('server', '{schedule: hourly}'),
  },
  steps: [
    'kubectl get crontabs',
    'kubectl create -f one.yaml',
    'kubectl apply -f crd.yaml',
    'kubectl wait crd/crontabs.custom.example.com --for=condition=Established --timeout=20s',
    {
      as: 'until the kind is served',
      run: 'until kubectl get --raw /apis/custom.example.com/v1/crontabs > /dev/null 2>&1; do :; done; ' +
        'until kubectl get --raw /openapi/v3 | grep -q custom.example.com; do :; done; ' +
        'until kubectl get --raw /apis/custom.example.com/v1 | grep -q crontabs; do :; done; kubectl api-resources > /dev/null 2>&1',
    },
    'kubectl api-resources --api-group=custom.example.com -o wide',
    'kubectl get crd crontabs.custom.example.com',
    'kubectl get crd crontabs.custom.example.com -o yaml',
    'kubectl describe crd crontabs.custom.example.com',
    'kubectl explain crontabs',
    'kubectl explain ct.spec --recursive',
    'kubectl explain crontab.spec.schedule',
    'kubectl get ct',
    { run: 'kubectl create -f one.yaml', as: 'create of a custom object' },
    'kubectl create -f two.yaml -o yaml',
    // The real server lists the faults of a custom object in random order.
    'kubectl create -f bad.yaml 2>&1 | sort',
    'kubectl create -f bad.yaml --validate=false 2>&1 | sort',
    'kubectl create -f unknown.yaml',
    'kubectl create -f unknown.yaml --validate=warn',
    'kubectl create -f type.yaml 2>&1 | sort',
    { run: 'kubectl get ct', as: 'get of custom objects' },
    'kubectl get crontabs -o wide',
    'kubectl get crontabs.v1.custom.example.com one -o yaml --show-managed-fields',
    'kubectl get crontabs -A --field-selector=spec.schedule=daily',
    'kubectl get tabs -o name',
    'kubectl get ct one -o custom-columns=NAME:.metadata.name,WHEN:.spec.schedule',
    'kubectl get ct --sort-by=.spec.schedule',
    'kubectl describe crontab one',
    'kubectl describe ct',
    'kubectl apply -f one.yaml',
    'kubectl diff -f one2.yaml',
    'kubectl apply -f one2.yaml -o yaml --show-managed-fields',
    { run: 'kubectl apply -f one2.yaml', as: 'apply of a custom object without a change' },
    'kubectl apply -f bad.yaml 2>&1 | sort',
    'kubectl apply --server-side -f server.yaml',
    'kubectl apply --server-side -f server2.yaml --field-manager=other',
    'kubectl apply --server-side -f server2.yaml --field-manager=other --force-conflicts -o yaml --show-managed-fields',
    'kubectl scale crontab two --replicas=3',
    'kubectl scale crontab two --replicas=30',
    'kubectl get ct two --subresource=scale -o yaml',
    'kubectl autoscale crontab two --max=5',
    `kubectl patch ct two -p '{"spec":{"replicas":4}}'`,
    `kubectl patch ct two --type=merge -p '{"spec":{"replicas":4}}'`,
    `kubectl patch ct two --type=json -p '[{"op":"remove","path":"/spec/image"}]' -o jsonpath={.spec.image}`,
    `kubectl patch ct two --type=merge -p '{"spec":{"schedule":null}}'`,
    `kubectl patch ct two --subresource=status --type=merge -p '{"status":{"replicas":1,"conditions":[{"type":"Ready","status":"True"}]}}'`,
    'kubectl wait ct/two --for=condition=Ready --timeout=5s',
    `KUBE_EDITOR="sed -i 's/schedule: daily/schedule: weekly/'" kubectl edit ct two`,
    'kubectl label ct --all color=red',
    'kubectl annotate ct two a=b',
    'kubectl set image ct/two a=b',
    'kubectl rollout status ct/two',
    'kubectl expose ct two --port=80',
    'kubectl delete ct one',
    'kubectl delete ct --all',
    'kubectl create -f two.yaml; kubectl delete crd crontabs.custom.example.com',
    { run: 'kubectl get --raw /apis/custom.example.com/v1/crontabs', as: 'get --raw of what is no longer served' },
  ],
}
