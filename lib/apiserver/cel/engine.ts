/** What is loaded when the first rule is met: the language, its libraries, and regular expressions. */
export { conditionProblem, evaluateConditions, evaluatePolicy, PolicyCompiler } from './policies.ts'
export { definitionFaults } from './definition.ts'
export { defaultFaults, type RuleResult, validate, type Validator, validatorOf } from './validator.ts'
export { matches, patternProblem } from './functions/regex.ts'
