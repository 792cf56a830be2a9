import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectedName } from '../../lib/core/requested_action.ts'

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
