import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.js'
import { SCOPES } from './scopes.js'
import { search } from './search.js'

test.each(MUTATIONS)(
  'a machine in which $name breaks $breaks',
  ({ scope, machine, breaks }) => {
    const { violation } = search(SCOPES[scope], machine)
    expect(violation?.promise, violation?.text ?? 'not caught').toBe(breaks)
  },
  120_000,
)
