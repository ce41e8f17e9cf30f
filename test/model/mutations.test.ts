import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.js'
import { SCOPES } from './scopes.js'
import { search } from './search.js'
import { createSystem } from './system.js'

// The search must detect each machine that is broken on purpose, as a violation of the promise that it
// breaks.
test.each(MUTATIONS.map((mutation) => [mutation.name, mutation.breaks, mutation] as const))(
  'it is detected when %s (%s)',
  (_, breaks, { scope, machine }) => {
    const { violation } = search(createSystem(SCOPES[scope], machine))
    expect(violation?.promise, violation?.text ?? 'not found out').toBe(breaks)
  },
  120_000,
)

test('no two mutations have the same name', () => {
  const names = new Set(MUTATIONS.map(({ name }) => name))
  console.log(`${names.size} mutations`)
  expect(names.size).toBe(MUTATIONS.length)
})
