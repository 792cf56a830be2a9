// An admission of a kind, which is added to an operator: rules that the schema cannot say.
import type { Operator } from 'kubeloop'
import type { Foo } from '../1_sample_controller.ts'

export function admitFoo(app: Operator, kind: typeof Foo): void {
  app.admission(kind, {
    validate: ({ metadata: { name } }) =>
      name.length > 63 ? [{ field: 'metadata.name', message: 'as a label it may have at most 63 characters' }] : [],
  })
}
