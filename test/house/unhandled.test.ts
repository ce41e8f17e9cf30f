import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

// One file in the folder of each project; every test in it passes.
const FILES = { unit: 'src/a.test.ts', sim: 'test/sim/a.test.ts', integration: 'test/contract/a.test.ts' }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-unhandled-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('an unhandled rejection fails the run, in every project', () => {
  it.each(Object.keys(FILES) as (keyof typeof FILES)[])(
    'is on for %s',
    async (project) => {
      await write(FILES[project], "void Promise.reject(new Error('nobody waits for this'))")
      const { code, output } = await vitest('run', '--project', project)
      expect(output).toContain('Unhandled Rejection')
      expect(output).toContain('nobody waits for this')
      expect(output).toContain('1 passed')
      expect(code).toBe(1)
    },
    60_000,
  )

  it('passes without one, so it is the rejection that fails it', async () => {
    await write(FILES.unit, '')
    const { code, output } = await vitest('run', '--project', 'unit')
    expect(output).toContain('1 passed')
    expect(code).toBe(0)
  }, 60_000)

  it('has every project of the repository in this test', async () => {
    const config = await readFile(join(ROOT, 'vitest.config.ts'), 'utf8')
    expect([...config.matchAll(/name: '(\w+)'/g)].map(([, name]) => name)).toEqual(Object.keys(FILES))
  })
})

async function write(file: string, statement: string): Promise<void> {
  const path = join(folder, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `import { it } from 'vitest'\nit('passes', () => {\n  ${statement}\n})\n`)
}

async function vitest(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const binary = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const all = [binary, ...args, '--root', folder, '--config', join(ROOT, 'vitest.config.ts')]
  // Without what this run's workers were told of themselves.
  const own = Object.entries(process.env).filter(([key]) => !/^(?:VITEST|TEST$|NODE_ENV)/.test(key))
  const env = { ...Object.fromEntries(own), NO_COLOR: '1' }
  const child = spawn(process.execPath, all, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { code, output }
}
