/** The objects of the benchmarks: about 1.9 KB on the wire, as typical of operators. */

/** Returns the written object: a pod template and the usual labels. */
export function fooOf(name: string) {
  const labels = {
    'app.kubernetes.io/name': name,
    'app.kubernetes.io/part-of': 'bench',
    'app.kubernetes.io/managed-by': 'kubeloop',
  }
  const env = Array.from(
    { length: 8 },
    (_, i) => ({ name: `SETTING_${i}`, value: `the value of setting number ${i} of ${name}` }),
  )
  const resources = { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '512Mi' } }
  const ports = [{ name: 'http', containerPort: 8080, protocol: 'TCP' }]
  const containers = [{
    name: 'main',
    image: 'registry.example.com/team/app:1.2.3',
    args: ['--serve', '--verbose'],
    env,
    ports,
    resources,
  }]
  const annotations = { 'example.com/note': 'what somebody wanted to keep in mind about this object' }
  return {
    metadata: { namespace: 'default', name, labels, annotations },
    spec: {
      deploymentName: `${name}-deployment`,
      replicas: 3,
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

export function nameOf(i: number): string {
  return `foo-${String(i).padStart(6, '0')}`
}

export function servedFoo(i: number, resourceVersion: string, generation: number): object {
  const { metadata, spec } = fooOf(nameOf(i))
  const fieldsV1 = {
    'f:metadata': {
      'f:annotations': { '.': {}, 'f:example.com/note': {} },
      'f:labels': { '.': {}, 'f:app.kubernetes.io/name': {} },
    },
    'f:spec': { '.': {}, 'f:deploymentName': {}, 'f:replicas': {}, 'f:template': {} },
  }
  const apiVersion = 'bench.example.com/v1'
  const creationTimestamp = '2026-01-01T00:00:00Z'
  return {
    apiVersion,
    kind: 'Foo',
    metadata: {
      ...metadata,
      creationTimestamp,
      generation,
      resourceVersion,
      managedFields: [{
        apiVersion,
        fieldsType: 'FieldsV1',
        fieldsV1,
        manager: 'bench',
        operation: 'Update',
        time: creationTimestamp,
      }],
      uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    },
    spec,
  }
}
