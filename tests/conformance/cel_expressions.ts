/** Expressions as rules of a fixed schema, and what a real server answers to a definition that has them. */

/** `undefined`: accepted. A text that begins with "compilation" is in a cause with the rule as its value. */
export const EXPRESSIONS: readonly (readonly [rule: string, problems?: readonly string[]])[] = [
  ['false'],
  ['self.', [
    "compilation failed: ERROR: <input>:1:6: Syntax error: no viable alternative at input '.'\n | self.\n | .....^",
  ]],
  ['self.a.', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | self.a.\n | .......^",
  ]],
  ['self.l[', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.l[\n | .......^",
  ]],
  ['self.l[0', [
    "compilation failed: ERROR: <input>:1:9: Syntax error: missing ']' at '<EOF>'\n | self.l[0\n | ........^",
  ]],
  ['foo(', [
    "compilation failed: ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | foo(\n | ....^",
  ]],
  ['foo(1', ["compilation failed: ERROR: <input>:1:6: Syntax error: missing ')' at '<EOF>'\n | foo(1\n | .....^"]],
  ['[1', [
    "compilation failed: ERROR: <input>:1:3: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [1\n | ..^",
  ]],
  ['{1:', [
    "compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | {1:\n | ...^",
  ]],
  ['{1: 2', [
    "compilation failed: ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {'}', ','}\n | {1: 2\n | .....^",
  ]],
  ['()', [
    "compilation failed: ERROR: <input>:1:2: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | ()\n | .^",
  ]],
  ['self.a ==', [
    "compilation failed: ERROR: <input>:1:10: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a ==\n | .........^",
  ]],
  ['== 1', [
    "compilation failed: ERROR: <input>:1:1: Syntax error: extraneous input '==' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | == 1\n | ^",
  ]],
  ['self.a & 1', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: token recognition error at: '& '\n | self.a & 1\n | .......^\nERROR: <input>:1:10: Syntax error: extraneous input '1' expecting <EOF>\n | self.a & 1\n | .........^",
  ]],
  ['self.a | 1', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: token recognition error at: '| '\n | self.a | 1\n | .......^\nERROR: <input>:1:10: Syntax error: extraneous input '1' expecting <EOF>\n | self.a | 1\n | .........^",
  ]],
  ['a b', [
    "compilation failed: ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^",
  ]],
  ['self.a == 1 ; 2', [
    "compilation failed: ERROR: <input>:1:13: Syntax error: token recognition error at: ';'\n | self.a == 1 ; 2\n | ............^\nERROR: <input>:1:15: Syntax error: extraneous input '2' expecting <EOF>\n | self.a == 1 ; 2\n | ..............^",
  ]],
  ['1 +* 2', [
    "compilation failed: ERROR: <input>:1:4: Syntax error: extraneous input '*' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +* 2\n | ...^",
  ]],
  ['self.a)', [
    "compilation failed: ERROR: <input>:1:7: Syntax error: extraneous input ')' expecting <EOF>\n | self.a)\n | ......^",
  ]],
  ['self.l]', [
    "compilation failed: ERROR: <input>:1:7: Syntax error: extraneous input ']' expecting <EOF>\n | self.l]\n | ......^",
  ]],
  ['self.a ? 1', [
    "compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting ':'\n | self.a ? 1\n | ..........^",
  ]],
  ['self.a > 1 ? true :', [
    "compilation failed: ERROR: <input>:1:20: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a > 1 ? true :\n | ...................^",
  ]],
  ['for', ['compilation failed: ERROR: <input>:1:1: reserved identifier: for\n | for\n | ^']],
  ['self.for == 1', ["compilation failed: ERROR: <input>:1:5: undefined field 'for'\n | self.for == 1\n | ....^"]],
  ['self.a == #', [
    "compilation failed: ERROR: <input>:1:11: Syntax error: token recognition error at: '#'\n | self.a == #\n | ..........^\nERROR: <input>:1:12: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a == #\n | ...........^",
  ]],
  ['"abc', [
    "compilation failed: ERROR: <input>:1:1: Syntax error: token recognition error at: '\"abc'\n | \"abc\n | ^\nERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | \"abc\n | ....^",
  ]],
  ['1u == self.a', [
    "compilation failed: ERROR: <input>:1:4: found no matching overload for '_==_' applied to '(uint, int)'\n | 1u == self.a\n | ...^",
  ]],
  ['self.a in', [
    "compilation failed: ERROR: <input>:1:10: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a in\n | .........^",
  ]],
  ['self.l.all(x', [
    "compilation failed: ERROR: <input>:1:13: Syntax error: missing ')' at '<EOF>'\n | self.l.all(x\n | ............^",
  ]],
  ['self.l.all()', [
    "compilation failed: ERROR: <input>:1:11: undeclared reference to 'all' (in container '')\n | self.l.all()\n | ..........^",
  ]],
  ['self.l.all(x, )', [
    "compilation failed: ERROR: <input>:1:15: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.l.all(x, )\n | ..............^",
  ]],
  ['has()', [
    "compilation failed: ERROR: <input>:1:4: undeclared reference to 'has' (in container '')\n | has()\n | ...^",
  ]],
  ['self.a ! 1', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: mismatched input '!' expecting <EOF>\n | self.a ! 1\n | .......^",
  ]],
  ['self.a == 1 // c'],
  ['self.a == 99999999999999999999', [
    'compilation failed: ERROR: <input>:1:11: invalid int literal\n | self.a == 99999999999999999999\n | ..........^',
  ]],
  ['self.b1', ["compilation failed: ERROR: <input>:1:5: undefined field 'b1'\n | self.b1\n | ....^"]],
  ['self.a == "x"', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'\n | self.a == \"x\"\n | .......^",
  ]],
  ['foo(1)', [
    "compilation failed: ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(1)\n | ...^",
  ]],
  ['self.a +', [
    "compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a +\n | ........^",
  ]],
  ['self.a.foo()', [
    "compilation failed: ERROR: <input>:1:11: undeclared reference to 'foo' (in container '')\n | self.a.foo()\n | ..........^",
  ]],
  ['self.a == null', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, null)'\n | self.a == null\n | .......^",
  ]],
  ['self.n == null', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, null)'\n | self.n == null\n | .......^",
  ]],
  ['undefinedvar', [
    "compilation failed: ERROR: <input>:1:1: undeclared reference to 'undefinedvar' (in container '')\n | undefinedvar\n | ^",
  ]],
  ['self.a', ['cel expression must evaluate to a bool']],
  ['"x" + 1 == "x1"', [
    'compilation failed: ERROR: <input>:1:5: found no matching overload for \'_+_\' applied to \'(string, int)\'\n | "x" + 1 == "x1"\n | ....^',
  ]],
  ['self.s.startsWith(1)', [
    "compilation failed: ERROR: <input>:1:18: found no matching overload for 'startsWith' applied to 'string.(int)'\n | self.s.startsWith(1)\n | .................^",
  ]],
  ['has(self.nope)', ["compilation failed: ERROR: <input>:1:4: undefined field 'nope'\n | has(self.nope)\n | ...^"]],
  ['has(self)', ['compilation failed: ERROR: <input>:1:5: invalid argument to has() macro\n | has(self)\n | ....^']],
  ['has(self.a.b)', [
    "compilation failed: ERROR: <input>:1:4: type 'int' does not support field selection\n | has(self.a.b)\n | ...^",
  ]],
  ['self.l.all(x, x)', [
    "compilation failed: ERROR: <input>:1:15: expected type 'bool' but found 'string'\n | self.l.all(x, x)\n | ..............^",
  ]],
  ['self.l.all(1, true)', [
    'compilation failed: ERROR: <input>:1:12: argument must be a simple name\n | self.l.all(1, true)\n | ...........^',
  ]],
  ['self.a.all(x, true)', [
    "compilation failed: ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.a.all(x, true)\n | ....^",
  ]],
  ['self.l.exists(x, y)', [
    "compilation failed: ERROR: <input>:1:18: undeclared reference to 'y' (in container '')\n | self.l.exists(x, y)\n | .................^",
  ]],
  ['self.l.map(x, 1)', ['cel expression must evaluate to a bool']],
  ['self.o.y == 1', ["compilation failed: ERROR: <input>:1:7: undefined field 'y'\n | self.o.y == 1\n | ......^"]],
  ['self.u.x == 1', ["compilation failed: ERROR: <input>:1:7: undefined field 'x'\n | self.u.x == 1\n | ......^"]],
  ['self.a = 1', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: token recognition error at: '= '\n | self.a = 1\n | .......^\nERROR: <input>:1:10: Syntax error: extraneous input '1' expecting <EOF>\n | self.a = 1\n | .........^",
  ]],
  ['self.a == 1 &&', [
    "compilation failed: ERROR: <input>:1:15: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a == 1 &&\n | ..............^",
  ]],
  ['(self.a', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: missing ')' at '<EOF>'\n | (self.a\n | .......^",
  ]],
  ['self.s == "abc', [
    "compilation failed: ERROR: <input>:1:11: Syntax error: token recognition error at: '\"abc'\n | self.s == \"abc\n | ..........^\nERROR: <input>:1:15: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.s == \"abc\n | ..............^",
  ]],
  ["self.s.matches('[')", [
    "compilation failed: ERROR: <input>:1:16: invalid matches argument\n | self.s.matches('[')\n | ...............^",
  ]],
  ["duration('x') == duration('1s')", [
    "compilation failed: ERROR: <input>:1:10: invalid duration argument\n | duration('x') == duration('1s')\n | .........^",
  ]],
  ["timestamp('x') == timestamp('2020-01-01T00:00:00Z')", [
    "compilation failed: ERROR: <input>:1:11: invalid timestamp argument\n | timestamp('x') == timestamp('2020-01-01T00:00:00Z')\n | ..........^",
  ]],
  ['[1, "a"].size() == 2', [
    "compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, \"a\"].size() == 2\n | ....^",
  ]],
  ['cel.bind(x, 1, x == 1)', [
    "compilation failed: ERROR: <input>:1:1: undeclared reference to 'cel' (in container '')\n | cel.bind(x, 1, x == 1)\n | ^\nERROR: <input>:1:9: undeclared reference to 'bind' (in container '')\n | cel.bind(x, 1, x == 1)\n | ........^\nERROR: <input>:1:10: undeclared reference to 'x' (in container '')\n | cel.bind(x, 1, x == 1)\n | .........^\nERROR: <input>:1:16: undeclared reference to 'x' (in container '')\n | cel.bind(x, 1, x == 1)\n | ...............^",
  ]],
  ['math.greatest(1,2) == 2', [
    "compilation failed: ERROR: <input>:1:1: undeclared reference to 'math' (in container '')\n | math.greatest(1,2) == 2\n | ^\nERROR: <input>:1:14: undeclared reference to 'greatest' (in container '')\n | math.greatest(1,2) == 2\n | .............^",
  ]],
  ['self.a && true', [
    "compilation failed: ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.a && true\n | ....^",
  ]],
  ['true || self.s', [
    "compilation failed: ERROR: <input>:1:13: expected type 'bool' but found 'string'\n | true || self.s\n | ............^",
  ]],
  ['self.a ? true : false', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_?_:_' applied to '(int, bool, bool)'\n | self.a ? true : false\n | .......^",
  ]],
  ['true ? 1 : "a"', [
    "compilation failed: ERROR: <input>:1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'\n | true ? 1 : \"a\"\n | .....^",
  ]],
  ['!self.a', [
    "compilation failed: ERROR: <input>:1:1: found no matching overload for '!_' applied to '(int)'\n | !self.a\n | ^",
  ]],
  ['-self.s == 1', [
    "compilation failed: ERROR: <input>:1:1: found no matching overload for '-_' applied to '(string)'\n | -self.s == 1\n | ^",
  ]],
  ['self.l[0] == 1', [
    "compilation failed: ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(string, int)'\n | self.l[0] == 1\n | ..........^",
  ]],
  ['self.l["a"] == "x"', [
    'compilation failed: ERROR: <input>:1:7: found no matching overload for \'_[_]\' applied to \'(list(string), string)\'\n | self.l["a"] == "x"\n | ......^',
  ]],
  ['self.m[1] == 1', [
    "compilation failed: ERROR: <input>:1:7: found no matching overload for '_[_]' applied to '(map(string, int), int)'\n | self.m[1] == 1\n | ......^",
  ]],
  ['1 in self.l', [
    "compilation failed: ERROR: <input>:1:3: found no matching overload for '@in' applied to '(int, list(string))'\n | 1 in self.l\n | ..^",
  ]],
  ['self.s in self.m'],
  ['self.m.all(k, v, k)', [
    "compilation failed: ERROR: <input>:1:18: expected type 'bool' but found 'string'\n | self.m.all(k, v, k)\n | .................^",
  ]],
  ['self.l.transformMap(i, v, v) == 1', [
    "compilation failed: ERROR: <input>:1:30: found no matching overload for '_==_' applied to '(map(int, string), int)'\n | self.l.transformMap(i, v, v) == 1\n | .............................^",
  ]],
  ['self.x-y == 1', [
    "compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | self.x-y == 1\n | ....^\nERROR: <input>:1:8: undeclared reference to 'y' (in container '')\n | self.x-y == 1\n | .......^",
  ]],
  ['self.x__dash__y == 1', [
    "compilation failed: ERROR: <input>:1:17: found no matching overload for '_==_' applied to '(string, int)'\n | self.x__dash__y == 1\n | ................^",
  ]],
  ['self.?b1 == 1', [
    "compilation failed: ERROR: <input>:1:5: undefined field 'b1'\n | self.?b1 == 1\n | ....^\nERROR: <input>:1:10: found no matching overload for '_==_' applied to '(optional_type(!error!), int)'\n | self.?b1 == 1\n | .........^",
  ]],
  ['self.metadata.labels == 1', [
    "compilation failed: ERROR: <input>:1:5: undefined field 'metadata'\n | self.metadata.labels == 1\n | ....^",
  ]],
  ['self.l.all(x, x, true)', [
    'compilation failed: ERROR: <input>:1:15: duplicate variable name: x\n | self.l.all(x, x, true)\n | ..............^',
  ]],
  ['type(self.a) == nope', [
    "compilation failed: ERROR: <input>:1:17: undeclared reference to 'nope' (in container '')\n | type(self.a) == nope\n | ................^",
  ]],
  ['size(1) == 1', [
    "compilation failed: ERROR: <input>:1:5: found no matching overload for 'size' applied to '(int)'\n | size(1) == 1\n | ....^",
  ]],
  ['self.l.join(1) == ""', [
    "compilation failed: ERROR: <input>:1:12: found no matching overload for 'join' applied to 'list(string).(int)'\n | self.l.join(1) == \"\"\n | ...........^",
  ]],
  ['quantity(1) == 1', [
    "compilation failed: ERROR: <input>:1:9: found no matching overload for 'quantity' applied to '(int)'\n | quantity(1) == 1\n | ........^",
  ]],
  ['self.t > self.dur', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(timestamp, duration)'\n | self.t > self.dur\n | .......^",
  ]],
  ['self.t > "2020"', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(timestamp, string)'\n | self.t > \"2020\"\n | .......^",
  ]],
  ['self.d == 1', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(double, int)'\n | self.d == 1\n | .......^",
  ]],
  ['self.d == self.a', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(double, int)'\n | self.d == self.a\n | .......^",
  ]],
  ['self.a > 1.5'],
  ['{"a": 1, 2: "b"}.size() == 1', [
    'compilation failed: ERROR: <input>:1:10: expected type \'string\' but found \'int\'\n | {"a": 1, 2: "b"}.size() == 1\n | .........^\nERROR: <input>:1:13: expected type \'int\' but found \'string\'\n | {"a": 1, 2: "b"}.size() == 1\n | ............^',
  ]],
  ['self.a @ 1', [
    "compilation failed: ERROR: <input>:1:8: Syntax error: token recognition error at: '@'\n | self.a @ 1\n | .......^\nERROR: <input>:1:10: Syntax error: extraneous input '1' expecting <EOF>\n | self.a @ 1\n | .........^",
  ]],
  ['self.a == 1 2', [
    "compilation failed: ERROR: <input>:1:13: Syntax error: extraneous input '2' expecting <EOF>\n | self.a == 1 2\n | ............^",
  ]],
  ['if (true)', ['compilation failed: ERROR: <input>:1:1: reserved identifier: if\n | if (true)\n | ^']],
  ['self.a == 1 || self.zz == 2 || self.yy', [
    "compilation failed: ERROR: <input>:1:20: undefined field 'zz'\n | self.a == 1 || self.zz == 2 || self.yy\n | ...................^\nERROR: <input>:1:36: undefined field 'yy'\n | self.a == 1 || self.zz == 2 || self.yy\n | ...................................^",
  ]],
  ['self.l.all(x,\n x == 1)', [
    "compilation failed: ERROR: <input>:2:4: found no matching overload for '_==_' applied to '(string, int)'\n |  x == 1)\n | ...^",
  ]],
  ['self..a', [
    "compilation failed: ERROR: <input>:1:6: Syntax error: no viable alternative at input '..'\n | self..a\n | .....^",
  ]],
  ['self.l.reverse() == 1', [
    "compilation failed: ERROR: <input>:1:18: found no matching overload for '_==_' applied to '(list(string), int)'\n | self.l.reverse() == 1\n | .................^",
  ]],
  ['self.s.reverse() == ""', [
    "compilation failed: ERROR: <input>:1:15: found no matching overload for 'reverse' applied to 'string.()'\n | self.s.reverse() == \"\"\n | ..............^",
  ]],
  ['self.l.first() == ""', [
    "compilation failed: ERROR: <input>:1:16: found no matching overload for '_==_' applied to '(optional_type(string), string)'\n | self.l.first() == \"\"\n | ...............^",
  ]],
  ['lists.range(3) == [1]'],
  ['sets.contains(self.l, [1])', [
    "compilation failed: ERROR: <input>:1:14: found no matching overload for 'sets.contains' applied to '(list(string), list(int))'\n | sets.contains(self.l, [1])\n | .............^",
  ]],
  ['self.io + 1', ['cel expression must evaluate to a bool']],
  ['self.l.optMap(x, x)', [
    "compilation failed: ERROR: <input>:1:14: found no matching overload for 'hasValue' applied to 'list(string).()'\n | self.l.optMap(x, x)\n | .............^\nERROR: <input>:1:14: found no matching overload for 'value' applied to 'list(string).()'\n | self.l.optMap(x, x)\n | .............^",
  ]],
  ['self.o == {}', [
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(selfType.o, map(dyn, dyn))'\n | self.o == {}\n | .......^",
  ]],
  ['self.o == {"x": "y"}', [
    'compilation failed: ERROR: <input>:1:8: found no matching overload for \'_==_\' applied to \'(selfType.o, map(string, string))\'\n | self.o == {"x": "y"}\n | .......^',
  ]],
  ['oldSelf.a == self.a'],
  ['int("1") == "1"', [
    'compilation failed: ERROR: <input>:1:10: found no matching overload for \'_==_\' applied to \'(int, string)\'\n | int("1") == "1"\n | .........^',
  ]],
  ['dyn(self.a) == "x"'],
  ['self.l.all(l, self.l.all(m, l == m))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.ll.all(x, x.all(y, self.l.all(z, true)))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.s.matches(self.s)', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.sort() == self.l', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.s.contains(self.s)', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.s.split("").size() > 1'],
  ['self.l.map(x, x.size()).sum() > 1', [
    'Forbidden: estimated rule cost exceeds budget by factor of 1.6x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.bl.all(l, self.bl.all(m, l == m))'],
  ['self.l.isSorted()', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.join("") == "x"', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.s.replace("a","b") == "x"'],
  ['self.s.find("a") == "x"'],
  ['self.s.upperAscii().lowerAscii().trim() == ""'],
  ['self.l.filter(x, x == "a").size() > 1', [
    'Forbidden: estimated rule cost exceeds budget by factor of 1.6x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.exists_one(x, x == "a")'],
  ['self.m.exists(k, self.m[k] == 1)'],
  ['self.lo.all(x, self.lo.exists_one(y, x.k == y.k))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.lo.map(x, x.k).all(k, self.lo.exists(y, y.k == k))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.?o.?x.optMap(v, v.size() > 1).orValue(true)'],
  ['self.l.distinct().size() == 1', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.sortBy(x, x)[0] == ""', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['sets.equivalent(self.l, self.l)', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.all(x, x in self.l)', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.all(x, x.matches("^a*$"))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.short.matches(self.short)'],
  ['"%s".format([self.s]) == ""'],
  ['self.b == b"x"'],
  ['string(self.b) == "x"'],
  ['bytes(self.s) == b""'],
  ['ip(self.s) == ip(self.s)'],
  ['cidr(self.s).containsIP(self.s)'],
  ['url(self.s).getHost() == ""'],
  ['semver(self.s).major() == 1'],
  ['quantity(self.s).isLessThan(quantity("1"))'],
  ['isIP(self.s)'],
  ['self.l.slice(0, 2) == []'],
  ['self.ll.flatten() == [1]'],
  ['self.ll.flatten().all(x, self.l.all(y, true))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
  ['self.l.all(x, self.l.all(y, self.bl.all(z, x == y || y == z)))', [
    'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    'Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
  ]],
]
