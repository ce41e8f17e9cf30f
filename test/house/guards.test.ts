import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

// One file in the folder of each project of vitest.config.ts. Their tests assert nothing and would pass.
const FILES = { unit: 'src/a.test.ts', sim: 'test/sim/a.test.ts', integration: 'test/contract/a.test.ts' }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-guards-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

// This run itself shows that a run without a fault passes.
describe('the guards of every test of this repository are on', () => {
  it('covers every project', async () => {
    const config = await readFile(join(ROOT, 'vitest.config.ts'), 'utf8')
    expect([...config.matchAll(/name: '(\w+)'/g)].map(([, name]) => name)).toEqual(Object.keys(FILES))
  })

  it('fails a run for an unhandled rejection, in each project, although every test passes', async () => {
    const { code, output } = await runWith(
      (project) => `void Promise.reject(new Error('unhandled in ${project}'))`,
    )
    expect(output).toContain('Vitest caught 3 unhandled errors')
    for (const project of Object.keys(FILES)) expect(output).toContain(`unhandled in ${project}`)
    expect(output).not.toContain('failed')
    expect(code).toBe(1)
  }, 60_000)

  it('fails a test in which any error holds a credential, although no test inspects it', async () => {
    const { code, output } = await runWith(
      (project) =>
        `Object.assign(invalid('value', 1, '2'), { url: 'https://rpc.example.com/${project}-key' })`,
    )
    expect(output).toContain('3 failed')
    for (const project of Object.keys(FILES))
      expect(output).toContain(`https://rpc.example.com/${project}-key`)
    expect(code).toBe(1)
  }, 60_000)
})

/** Runs one test in each project, with the repository's own configuration. */
async function runWith(
  statement: (project: string) => string,
): Promise<{ code: number | null; output: string }> {
  for (const [project, file] of Object.entries(FILES)) {
    const path = join(folder, file)
    await mkdir(dirname(path), { recursive: true })
    const imports = `import { it } from 'vitest'\nimport { invalid } from '${ROOT}src/errors/invalid.ts'\n`
    await writeFile(path, `${imports}it('does it', () => {\n  void invalid\n  ${statement(project)}\n})\n`)
  }
  const binary = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const args = [binary, 'run', '--root', folder, '--config', join(ROOT, 'vitest.config.ts')]
  // Without the variables that Vitest set for this run's workers.
  const own = Object.entries(process.env).filter(([key]) => !/^(?:VITEST|TEST$|NODE_ENV)/.test(key))
  const env = { ...Object.fromEntries(own), NO_COLOR: '1' }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { code, output }
}
