import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Records } from './records.js'

const MEGABYTE = 1_048_576

test('records come back as they were added, whatever their texts are', () => {
  const text = fc.string({
    unit: fc.constantFrom('', 'a', 'ü', '€', '😀', '\0', '\ud800', '\udc00', ' ', '\n', '"'),
    maxLength: 6,
  })
  fc.assert(
    fc.property(fc.array(fc.array(text, { maxLength: 4 }), { maxLength: 30 }), (lists) => {
      const records = new Records()
      for (const list of lists) records.add(list)
      expect(records.length).toBe(lists.length)
      expect(lists.map((_, index) => records.at(index))).toEqual(lists)
    }),
  )
})

test('records come back from texts that fill, cross and exceed the memory blocks', () => {
  const sizes = [MEGABYTE - 3, 3, 1, MEGABYTE, 0, MEGABYTE + 1, 400_000, 400_000, 400_000, 0, 5]
  const lists = sizes.map((size, index) => [String.fromCharCode(97 + index).repeat(size)])
  const records = new Records()
  for (const list of lists) records.add(list)
  // A comparison of megabytes that fails would print them.
  expect(lists.map((list, index) => records.at(index)[0] === list[0])).toEqual(lists.map(() => true))
})
