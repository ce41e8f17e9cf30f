import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Positions } from './positions.js'

test('each text finds the last equal text before it', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 2 }), { maxLength: 60 }), (texts) => {
      const positions = new Positions(texts.length, (index) => texts[index] ?? '')
      const found = texts.map((text, index) => positions.put(text, index))
      const before = texts.map((text, index) => texts.lastIndexOf(text, index - 1))
      expect(found).toEqual(before.map((at, index) => (at < 0 || index === 0 ? undefined : at)))
    }),
  )
})
