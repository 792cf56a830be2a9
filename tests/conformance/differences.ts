/** The cases that one of the servers does not run, with the reason: where the embedded API differs on purpose. */
const PANICS = 'kube-apiserver 1.36.3 panics and closes the connection'
const NOT_EMPTIED = 'without kube-controller-manager a namespace is not emptied'

export const DIFFERENCES: Readonly<Record<string, { readonly embedded?: string; readonly real?: string }>> = {
  'a deleted namespace reports what is left in it': { real: NOT_EMPTIED },
  'a watch from an expired version sends an ERROR event with 410': {
    real: 'its watch cache drops history only on a restart',
  },
  'a webhook that does not answer in time fails the request': {
    embedded: 'the clock of the suite stands still; tests/apiserver/webhooks.test.ts advances it',
  },
  'deleting a namespace deletes its contents, and blocks new ones': { real: NOT_EMPTIED },
  'one review converts all objects of a list': {
    real: 'the real server reads lists from watch caches, which convert each object',
  },
  'protobuf: a custom object cannot be created from it': { real: PANICS },
  'protobuf: a raw field that is not JSON is refused': { real: PANICS },
  'protobuf: answers are JSON for clients that accept protobuf alone': { real: 'a real server answers protobuf' },
  'requests in the storage version call no conversion webhook': {
    real: 'the real server also converts for the watch cache of the other version',
  },
  'verbs: pages of a namespace that a field selector names': {
    embedded: 'kube-apiserver 1.36.3 repeats the first page for ever; the embedded API goes on',
  },
}

const HARD = '{"limits.cpu":"2","pods":"10","requests.memory":"1Gi"}'

/** The steps whose answers differ, with the answer of the embedded API, by the end of the recorded line. */
export const OTHER_ANSWERS: readonly { readonly line: string; readonly embedded: string; readonly reason: string }[] = [
  ...[
    [
      `"spec":{"hard":${HARD}},"status":{}}`,
      '"spec":{"hard":HARD},"status":{"hard":HARD,"used":{"limits.cpu":"0","pods":"0","requests.memory":"0"}}}',
    ],
    ['"used":{"limits.cpu":"1","pods":"1"}}}', '"used":{"limits.cpu":"1","pods":"1","requests.memory":"0"}}}'],
  ].map(([line, embedded]) => ({
    line: line!,
    embedded: embedded!.replaceAll('HARD', HARD),
    reason: 'the embedded API counts at once, as kube-controller-manager does after a moment',
  })),
  ...[
    '"spec.externalIPs is deprecated and may no longer be implemented in some clusters"',
    `"spec.imagePullSecrets[0].name: invalid empty name ''"`,
    '"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible ' +
    'logging of tokens in volume attributes"',
    '"spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod", ' +
    '"spec.volumes[8].rbd: deprecated in v1.28, non-functional in v1.31+", ' +
    '"spec.volumes[10].scaleIO: deprecated in v1.16, non-functional in v1.22+"',
  ].map((warning) => ({
    line: ` warnings: ${warning}`,
    embedded: '',
    reason: 'the embedded API does not warn of the fields of most built-in kinds',
  })),
  {
    line: `400 BadRequest warnings: "unknown field 'spec'"`,
    embedded: '400 BadRequest',
    reason: 'the real server decodes the body before it compares versions, and warns; the refusal is the same',
  },
  {
    line: `{"a":"b","c":"e"} warnings: "line 10: key 'c' already set in map"`,
    embedded: '{"a":"b","c":"e"}',
    reason: 'the real server takes an overridden key of a YAML merge for a repeated one; the object is the same',
  },
  {
    line:
      '403 Forbidden: selfsubjectreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:{ns}:joe" ' +
      'cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at ' +
      'the cluster scope | authentication.k8s.io selfsubjectreviews',
    embedded: '403 Forbidden: users "jim" is forbidden: User "system:serviceaccount:{ns}:joe" cannot impersonate ' +
      'resource "users" in API group "" at the cluster scope | jim users',
    reason: 'the embedded API has no constrained impersonation, whose missing right the real server names',
  },
]
