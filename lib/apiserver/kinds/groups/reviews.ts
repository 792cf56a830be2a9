/** The kinds of authentication.k8s.io/v1 and authorization.k8s.io/v1: questions that the server answers. */
import type { GroupTable } from '../../model/kind_table.ts'

const REVIEW = { verbs: ['create'], stored: false } as const

export const AUTHENTICATION: GroupTable = {
  group: 'authentication.k8s.io',
  version: 'v1',
  definitions: 'authentication.v1',
  kinds: [
    { kind: 'SelfSubjectReview', plural: 'selfsubjectreviews', scope: 'Cluster', ...REVIEW },
    { kind: 'TokenReview', plural: 'tokenreviews', scope: 'Cluster', ...REVIEW },
  ],
}

export const AUTHORIZATION: GroupTable = {
  group: 'authorization.k8s.io',
  version: 'v1',
  definitions: 'authorization.v1',
  kinds: [
    { kind: 'LocalSubjectAccessReview', plural: 'localsubjectaccessreviews', ...REVIEW },
    { kind: 'SelfSubjectAccessReview', plural: 'selfsubjectaccessreviews', scope: 'Cluster', ...REVIEW },
    { kind: 'SelfSubjectRulesReview', plural: 'selfsubjectrulesreviews', scope: 'Cluster', ...REVIEW },
    { kind: 'SubjectAccessReview', plural: 'subjectaccessreviews', scope: 'Cluster', ...REVIEW },
  ],
}
