/** Cases of creating, reading and replacing objects. */
import type { Case } from './api.ts'
import { casesOf, cm, deploy, script } from './transcript.ts'

export const OBJECT_CASES: readonly Case[] = casesOf('objects', [
  script('a created object gets a uid, a resourceVersion, a creationTimestamp and its namespace', [
    [
      'POST cm ? metadata.uid metadata.resourceVersion metadata.creationTimestamp metadata.namespace metadata.generation .',
      cm('a'),
    ],
    'GET cm/a ? .',
  ]),
  script('a write to a missing namespace is NotFound', [[
    'POST /api/v1/namespaces/no-such-namespace/configmaps',
    cm('a'),
  ]]),
  script('a create with a resourceVersion is refused', [['POST cm', cm('a', {}, { resourceVersion: '1' })]]),
  script('quantities are written in their canonical form', [
    [
      'POST deploy ? spec.template.spec.containers.0.resources',
      deploy('a', {
        template: {
          metadata: { labels: { app: 'a' } },
          spec: {
            containers: [{
              name: 'main',
              image: 'nginx:1',
              resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: 0.5, memory: '1e3' } },
            }],
          },
        },
      }),
    ],
  ]),
])
