import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestedAction, selectedName } from '../../lib/core/requested_action.ts'

test('a field selector requires a name, if that can be the name of an object', () => {
  const rows: Readonly<Record<string, string | undefined>> = {
    'metadata.name=a': 'a',
    'metadata.name==a,spec.x=b': 'a',
    'spec.x=b,metadata.name=a.b': 'a.b',
    'metadata.name=...': '...',
    ...{ '': undefined, 'metadata.name=': undefined, 'metadata.name!=a': undefined, 'metadata.namespace=a': undefined },
    ...{ 'metadata.name=.': undefined, 'metadata.name=..': undefined, 'metadata.name=a/b': undefined },
    ...{ 'metadata.name=a%2fb': undefined, 'x.metadata.name=a': undefined, 'metadata.name=a\\,b': undefined },
  }
  for (const [fields, name] of Object.entries(rows)) assert.equal(selectedName(fields), name, fields)
})

test('an action has the verb and the parts of its path', () => {
  const rows: Readonly<Record<string, string>> = {
    'HEAD /apis/apps/v1/namespaces/ns/deployments/a/scale': 'get apps deployments scale ns a',
    'PUT /api/v1/namespaces/ns/status': 'update  namespaces status ns ns',
    'PUT /api/v1/namespaces/ns/finalize': 'update  namespaces finalize ns ns',
    'GET /api/v1/watch/namespaces/ns/pods': 'watch  pods  ns ',
    'GET /api/v1/proxy/namespaces/ns/pods/a/b': 'proxy  pods  ns a',
  }
  for (const [request, expected] of Object.entries(rows)) {
    const [method = '', path = ''] = request.split(' ')
    const { verb, group, resource, subresource, namespace, name } = requestedAction(method, path, new URLSearchParams())
    assert.equal([verb, group, resource, subresource, namespace, name].join(' '), expected, request)
  }
})
