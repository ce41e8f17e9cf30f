import { readFileSync } from 'node:fs'
import type { Options } from 'tsup'
import { describe, expect, it } from 'vitest'
import config from '../../tsup.config.js'
import { exportsOf, type Option, optionType } from './optionTypes.js'

const PAGE = readFileSync(new URL('../../docs/options.md', import.meta.url), 'utf8')

type Row = { readonly name: string; readonly byDefault: string; readonly meaning: string }
type Section = { readonly types: readonly string[]; readonly text: string; readonly rows: readonly Row[] }

const sections: readonly Section[] = PAGE.split(/^(?=#{2,3} )/m)
  .slice(1)
  .map((text) => ({
    types: [...(text.split('\n')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, type = '']) => type),
    text,
    rows: [...text.matchAll(/^\| `([\w.]+)` *\| (.+?) *\| (.+) \|$/gm)].map(
      ([, name = '', byDefault = '', meaning = '']) => ({ name, byDefault, meaning }),
    ),
  }))
  .filter(({ types }) => types.length > 0)

const entries = new Set(
  (config as Options[])
    .flatMap(({ entry }) => Object.values(entry as Record<string, string>))
    .filter((file) => !file.includes('/cli/')),
)
const exported = new Map([...entries].flatMap((entry) => [...exportsOf(entry)]))
// `setFees` takes fields of `FeePolicy`.
const ELSEWHERE = new Set(['FeeChange'])

describe('the page of options', () => {
  it('has a section for each option type that an entry exports', () => {
    const kinds = /(?:Options|Parameters|Limits|Policy|Share|Budget|Change|ProfileInput)$/
    const wanted = [...exported.keys()].filter((name) => kinds.test(name) && !ELSEWHERE.has(name))
    const described = new Set(sections.flatMap(({ types }) => types))
    expect(wanted.length).toBeGreaterThan(35)
    expect(wanted.filter((name) => !described.has(name))).toEqual([])
  })

  it.each(sections)('has a row for each option of $types, and no other row', ({ types, rows, text }) => {
    const found = types.map((type) => optionType(type, exported))
    const options = found.flatMap((type) => type.options)
    const names = new Set(options.map(({ name }) => name))
    expect(rows.map(({ name }) => name).sort()).toEqual([...names].sort())
    for (const name of found.flatMap((type) => type.picked)) expect(text).toContain(`\`${name}\``)
  })

  it.each(sections)('has the defaults of $types', ({ types, rows }) => {
    const options = types.flatMap((type) => optionType(type, exported).options)
    const wrong = rows.flatMap((row) => {
      const same = options.filter(({ name }) => name === row.name)
      return same.some((option) => isDefault(row, option)) ? [] : [`${row.name}: ${row.byDefault}`]
    })
    expect(wrong).toEqual([])
  })

  it('has the numbers, texts and truth values of a tag in its cell', () => {
    const option = { name: 'a', isOptional: true, byDefault: "1_000, or 'b' where `c` is 2" }
    const row = { name: 'a', meaning: '' }
    expect(isDefault({ ...row, byDefault: "1,000; `'b'` if `c` is 2" }, option)).toBe(true)
    expect(isDefault({ ...row, byDefault: "1,001; `'b'` if `c` is 2" }, option)).toBe(false)
    expect(isDefault({ ...row, byDefault: "1,000; `'d'` if `c` is 2" }, option)).toBe(false)
    expect(isDefault({ ...row, byDefault: 'none' }, { ...option, byDefault: undefined })).toBe(true)
    expect(
      isDefault({ ...row, byDefault: 'none' }, { ...option, isOptional: false, byDefault: undefined }),
    ).toBe(false)
  })
})

/** The words of a tag may differ from the words of its cell; its values may not. */
function isDefault({ byDefault }: Row, option: Option): boolean {
  if (option.byDefault !== undefined) return valuesIn(byDefault).join() === valuesIn(option.byDefault).join()
  if (byDefault === 'required') return !option.isOptional
  // A type that is used as a `Partial` has no question marks of its own.
  const mayBeMissing = option.isOptional || byDefault === 'probed'
  return mayBeMissing && valuesIn(byDefault).length === 0
}

function valuesIn(text: string): readonly string[] {
  const plain = text.replaceAll(/(\d)[_,](?=\d{3})/g, '$1')
  return [...plain.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?|(?<!\w)'[^']+'|\b(?:true|false)\b/g)]
    .map(([value]) => value)
    .sort()
}
