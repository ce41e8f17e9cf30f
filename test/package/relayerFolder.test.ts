import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const FOLDER = new URL('examples/relayer/', ROOT)

type Manifest = Readonly<Record<'version' | 'name', string>> &
  Readonly<
    Record<'dependencies' | 'devDependencies' | 'scripts' | 'peerDependencies', Record<string, string>>
  >

const read = (file: string, from = FOLDER) => readFileSync(new URL(file, from), 'utf8')
const manifest = JSON.parse(read('package.json')) as Manifest
const root = JSON.parse(read('package.json', ROOT)) as Manifest

const imported = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => [...read(name).matchAll(/ from '([^'.][^']*)'/g)].map(([, found = '']) => found))
  .map((path) =>
    path
      .split('/')
      .slice(0, path.startsWith('@') ? 2 : 1)
      .join('/'),
  )
  .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))

test('the folder is self-contained: its package.json lists the imports of its files, and the packages that the store loads', () => {
  expect(Object.keys(manifest.dependencies)).toEqual(expect.arrayContaining([...new Set(imported), 'pg']))
  expect(imported).toContain('txlane')
})

test('its versions are those of the tests of this repository', () => {
  const own = { ...manifest.dependencies, ...manifest.devDependencies }
  const here: Record<string, string> = { ...root.devDependencies, txlane: `^${root.version}` }
  for (const [name, range] of Object.entries(own)) expect([name, range]).toEqual([name, here[name]])
})

test('the Dockerfile and the compose file name existing files', () => {
  const dockerfile = read('Dockerfile')
  for (const [, script = ''] of dockerfile.matchAll(/npm run (\w+)/g))
    expect(manifest.scripts).toHaveProperty(script)
  const names = readdirSync(FOLDER)
  for (const file of ['tsconfig.build.json', 'package.json']) expect(names).toContain(file)
  expect(manifest.scripts.build).toContain('tsconfig.build.json')
  expect(dockerfile).toContain(`CMD ["node", "${manifest.scripts.start?.replace('node ', '')}"]`)
  const config = read('config.ts')
  const variables = [...read('compose.yaml').matchAll(/^ {6}([A-Z_]+): /gm)].map(([, name = '']) => name)
  expect(variables).toContain('KEYS_FILE')
  for (const name of variables) expect(config).toMatch(new RegExp(`\\b${name}\\b`))
})

test('the README names each variable that the service reads', () => {
  const variables = new Set(
    [...read('config.ts').matchAll(/(?:env\.|env, ')([A-Z_]+)/g)].map(([, name = '']) => name),
  )
  // PRIVATE_KEY is another name of the list of keys, for one key.
  variables.delete('PRIVATE_KEY')
  expect(variables.size).toBeGreaterThan(9)
  for (const name of variables) expect(read('README.md')).toContain(`\`${name}\``)
})
