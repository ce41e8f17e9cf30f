import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.js'
import { SCOPES } from './scopes.js'
import { search } from './search.js'

// The search is worth what it finds: a machine broken on purpose has to be found out, by the promise that it breaks.
test.each(MUTATIONS.map((mutation) => [mutation.name, mutation.breaks, mutation] as const))(
  'it is found out when %s (%s)',
  (_, breaks, { scope, machine }) => {
    const { violation } = search(SCOPES[scope], machine)
    expect(violation?.promise, violation?.text ?? 'not found out').toBe(breaks)
  },
  120_000,
)
