import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Right, rulesOf, withoutIncluded } from '../../lib/rights/rules.ts'

/** Reads a right such as `get foos.example.com=NAME@NAMESPACE`. */
function rightOf(text: string): Right {
  const [, verb = '', resource = '', group = '', name, namespace] =
    /^(\w+) (\w+)\.(\w+)(?:=(\w+))?(?:@(\w+))?$/.exec(text) ?? []
  return { namespace, group, resource, verb, name }
}

const textOf = ({ apiGroups, resources, resourceNames, verbs }: Readonly<Record<string, readonly string[]>>): string =>
  `${verbs} ${resources}.${apiGroups}${resourceNames ? `=${resourceNames}` : ''}`

for (
  const [rights, everywhere, inNamespaces = []] of [
    [
      ['use foos.a', 'deletecollection foos.a', 'bind foos.a', 'list foos.a', 'get foos.a'],
      ['get,list,deletecollection,bind,use foos.a'],
    ],
    [['get foos.a=y', 'get foos.a=x', 'create foos.a'], ['create foos.a', 'get foos.a=x,y']],
    [['get foos.a', 'get foos.a=x', 'get foos.b=x'], ['get foos.a', 'get foos.b=x']],
    [['get foos.a', 'get bars.a'], ['get bars,foos.a']],
    [['get foos.a', 'list foos.b', 'get bars.b', 'get foos.a'], ['get foos.a', 'get bars.b', 'list foos.b']],
    [['get foos.a=x', 'get bars.a=y'], ['get bars.a=y', 'get foos.a=x']],
    [['get foos.a=y', 'list foos.a=x'], ['list foos.a=x', 'get foos.a=y']],
    [
      ['get foos.a@s', 'get foos.b', 'get foos.b@r', 'get foos.a@r'],
      ['get foos.b'],
      [['r', 'get foos.a'], ['s', 'get foos.a']],
    ],
  ] as const
) {
  test(`the rules of: ${rights.join(', ')}`, () => {
    const rules = rulesOf(rights.map(rightOf))
    const named = [...rules.inNamespaces].map(([place, each]) => [place, ...each.map((rule) => textOf({ ...rule }))])
    assert.deepEqual([rules.everywhere.map((rule) => textOf({ ...rule })), named], [everywhere, inNamespaces])
  })
}

test('of equal rights one stays', () => {
  const right = rightOf('get foos.a')
  assert.deepEqual(withoutIncluded([right, { ...right }]), [right])
})
