import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReport } from '../tools/junit.js'

const NODE = `<?xml version="1.0" encoding="utf-8"?>
<testsuites>
	<testcase name="passes &lt;&amp;&quot;" time="0.0004" classname="test" file="/t/a.test.ts"/>
	<testcase name="skipped" time="0.0001" classname="test" file="/t/a.test.ts">
		<skipped type="skipped" message="no assets: see upstream #1"/>
	</testcase>
	<testcase name="fails" time="0.0006" classname="test" file="/t/a.test.ts" failure="one&#10;1 !== 2&#10;">
		<failure type="testCodeFailure" message="one is not two&#10;&#10;1 !== 2">
[Error [ERR_TEST_FAILURE]: one <testcase is not two
] { at TestContext.&lt;anonymous> (file:///t/a.test.ts:7:30) }
		</failure>
	</testcase>
	<testsuite name="suite" time="0.0002" tests="1" failures="0" skipped="0" hostname="vm">
		<testcase name="in suite" time="0.00008" classname="suite" file="/t/a.test.ts"/>
	</testsuite>
	<!-- Error: a test said <testcase name="nothing"/> -->
</testsuites>`

const BUN = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" failures="1" skipped="1" time="0.02">
  <testsuite name="a.test.ts" file="a.test.ts" tests="4" failures="1" skipped="1" time="0.01" hostname="vm">
    <testcase name="passes &lt;&amp;&quot;" classname="" time="0.0007" file="a.test.ts" line="3" assertions="0" />
    <testcase name="skipped" classname="" time="0" file="a.test.ts" line="4" assertions="0">
      <skipped />
    </testcase>
    <testcase name="fails" classname="" time="0.0009" file="a.test.ts" line="7" assertions="0">
      <failure type="AssertionError" message="one is not two&#10;">AssertionError: one is not two</failure>
    </testcase>
    <testsuite name="suite" file="a.test.ts" line="8" tests="1" failures="0" skipped="0" time="0" hostname="vm">
      <testcase name="in suite" classname="suite" time="0.00008" file="a.test.ts" line="8" assertions="0" />
    </testsuite>
  </testsuite>
</testsuites>`

const DENO = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="5" failures="1" errors="0" time="0.039">
    <testsuite name="./a.test.ts" tests="4" disabled="1" errors="0" failures="1">
        <testcase name="passes &lt;&amp;&quot;" classname="./a.test.ts" time="0.001" line="3" col="1">
        </testcase>
        <testcase name="skipped" classname="./a.test.ts" time="0.000" line="4" col="1">
            <skipped/>
        </testcase>
        <testcase name="fails" classname="./a.test.ts" time="0.004" line="7" col="1">
            <failure message="Uncaught AssertionError: one is not two

1 !== 2
">AssertionError: one is not two

test(&apos;fails&apos;, () =&gt; { })</failure>
        </testcase>
        <testcase name="suite" classname="./a.test.ts" time="0.001" line="8" col="1">
        </testcase>
    </testsuite>
    <testsuite name="ext:deno_node/testing.ts" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="suite &gt; in suite" classname="ext:deno_node/testing.ts" time="0.000" line="1" col="23191">
        </testcase>
    </testsuite>
</testsuites>`

test('the reports of the three runtimes give the same results', () => {
  for (const [runtime, report] of Object.entries({ NODE, BUN, DENO })) {
    assert.deepEqual(readReport(report).map(({ name, result }) => `${name}: ${result}`).sort(), [
      'fails: failed',
      'passes <&": passed',
      'skipped: skipped',
      'suite > in suite: passed',
    ], runtime)
  }
  assert.equal(readReport(NODE).find(({ result }) => result === 'skipped')?.reason, 'no assets: see upstream #1')
})

test('a test of files that share a realm of Deno has the file in its name', () => {
  const report = '<testsuite name="./tests/tools/runner/deno_group.js">' +
    '<testcase name="tests/a.test.ts &gt; sends &gt; 1" line="48"/></testsuite>'
  const [{ file, name } = { file: '', name: '' }] = readReport(report)
  assert.deepEqual([file, name], ['tests/a.test.ts', 'sends > 1'])
})

test('a test that Deno cancelled because the process ended counts as failed', () => {
  const report =
    '<testsuite name="./a.test.ts"><testcase name="dies" line="3"><error message="Cancelled"/></testcase></testsuite>'
  assert.deepEqual(readReport(report).map(({ result }) => result), ['failed'])
})

test('a suite that failed by itself counts; one that passed or has a failed test does not', () => {
  const report = (suite: string, inside: string): string =>
    `<testsuite name="./a.test.ts"><testcase name="s">${suite}</testcase></testsuite>` +
    `<testsuite name="ext:x.ts"><testcase name="s &gt; a">${inside}</testcase></testsuite>`
  const names = (xml: string): string[] => readReport(xml).map(({ name }) => name)
  assert.deepEqual(names(report('', '')), ['s > a'])
  assert.deepEqual(names(report('<failure/>', '')), ['s', 's > a'])
  assert.deepEqual(names(report('<failure/>', '<failure/>')), ['s > a'])
})
