import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import { parseDocument } from 'yaml'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8')

type Step = {
  readonly uses?: string
  readonly run?: string
  readonly env?: object
  readonly with?: Readonly<Record<string, unknown>>
}
type Job = {
  readonly needs?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> }
  readonly 'timeout-minutes'?: number
  readonly steps: readonly Step[]
}
type Workflow = {
  readonly concurrency?: object
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}
type Manifest = {
  readonly scripts: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
  readonly repository: { readonly url: string }
  readonly publishConfig: object
}

/** @throws if the text has an error or a warning of YAML */
function parsed<t>(path: string): t {
  const document = parseDocument(read(path))
  expect([...document.errors, ...document.warnings], path).toEqual([])
  return document.toJS() as t
}

const manifest = JSON.parse(read('package.json')) as Manifest
const workflows = readdirSync(`${ROOT}.github/workflows`).map((file) => {
  const path = `.github/workflows/${file}`
  return { path, text: read(path), workflow: parsed<Workflow>(path) }
})
const workflow = (name: string) => {
  const found = workflows.find(({ path }) => path.endsWith(`/${name}.yml`))
  if (found === undefined) throw new Error(`there is no workflow ${name}`)
  return found
}

describe('each workflow', () => {
  it.each(workflows)(
    '$path limits its permissions, its concurrency and the time of its jobs',
    ({ workflow }) => {
      expect(workflow.permissions).toEqual({ contents: 'read' })
      expect(workflow.concurrency).toMatchObject({ group: expect.any(String) })
      for (const [name, job] of Object.entries(workflow.jobs))
        expect(job['timeout-minutes'], name).toBeGreaterThan(0)
    },
  )

  it.each(workflows)('$path pins each action to a commit, and names its version', ({ text, workflow }) => {
    const lines = text.split('\n').filter((line) => /\buses:/.test(line))
    const pinned = /uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/
    expect(lines.filter((line) => !pinned.test(line))).toEqual([])
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps)
    expect(lines).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length)
  })

  it('pins an action to the same commit as the others do', () => {
    const commits = new Map<string, Set<string>>()
    for (const { text } of workflows)
      for (const [, action = '', commit = ''] of text.matchAll(/uses: ([^@\s]+)@(\S+)/g))
        commits.set(action, (commits.get(action) ?? new Set()).add(commit))
    expect(commits.size).toBeGreaterThan(3)
    expect([...commits].filter(([, all]) => all.size > 1)).toEqual([])
  })
})

test('each npm script in a workflow, in .ci/run and in CONTRIBUTING.md exists', () => {
  const texts = [...workflows.map(({ text }) => text), read('.ci/run'), read('CONTRIBUTING.md')]
  const named = texts.flatMap((text) => [...text.matchAll(/npm run (?:--silent )?([\w:]+)/g)])
  expect(named.length).toBeGreaterThan(20)
  for (const [, name = ''] of named) expect(manifest.scripts).toHaveProperty([name])
})

describe('the check workflow', () => {
  const { jobs } = workflow('check').workflow

  it('runs the tests on the oldest supported Node and on three newer majors', () => {
    const versions = (jobs.node?.strategy?.matrix.node ?? []).map(String)
    const oldest = manifest.engines.node.replace('>=', '')
    expect(versions[0]).toBe(`${oldest}.0`)
    expect(versions.slice(1)).toEqual(['22', '24', '26'])
  })

  it('runs .ci/run, macOS, Windows, Bun, Deno and workerd', () => {
    const runs = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run }) => run))
    expect(runs).toContain('.ci/run')
    expect(runs).toContain('npm run runtimes -- --require')
    expect(jobs.system?.strategy?.matrix.os).toEqual(['macos-latest', 'windows-latest'])
  })
})

test('the nightly workflow runs each long search', () => {
  const { text } = workflow('nightly')
  const long = [
    'sim',
    'odd',
    'model',
    'crash',
    'cluster',
    'soak',
    'soak:retention',
    'peers',
    'nodes',
    'geth',
    'mutants',
  ]
  for (const name of long) expect(text).toContain(`npm run ${name}`)
})

describe('the release workflow', () => {
  const { text, workflow: release } = workflow('release')
  const jobs = Object.entries(release.jobs)

  it('lets npm exchange the token of one job for a short-lived one, and has no npm token', () => {
    const trusted = jobs.filter(([, { permissions }]) => permissions?.['id-token'] === 'write')
    expect(trusted.map(([name]) => name)).toEqual(['publish'])
    expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|secrets\./)
  })

  it('publishes with provenance, with a Node whose npm knows trusted publishing', () => {
    const steps = release.jobs.publish?.steps ?? []
    const publish = steps.find(({ run }) => run === 'npx changeset publish')
    expect(publish?.env).toEqual({ NPM_CONFIG_PROVENANCE: 'true' })
    expect(steps.map((step) => step.with?.['node-version'])).toContain('24')
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
    // npm compares it with the repository of the run.
    expect(manifest.repository.url).toBe('git+https://github.com/txlane/txlane.git')
  })

  it('publishes after .ci/run has passed, without a cache that another run has filled', () => {
    const { check, publish } = release.jobs
    expect(publish?.needs).toBe('check')
    expect(check?.steps.map(({ run }) => run)).toContain('.ci/run')
    expect(text).not.toMatch(/cache: npm|actions\/cache/)
  })
})

describe('the files for contributors', () => {
  it.each(readdirSync(`${ROOT}.github/ISSUE_TEMPLATE`))('%s is a form of GitHub', (file) => {
    const form = parsed<{ name?: string; description?: string; body?: { type: string; id?: string }[] }>(
      `.github/ISSUE_TEMPLATE/${file}`,
    )
    if (file === 'config.yml') return
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) })
    const fields = (form.body ?? []).filter(({ type }) => type !== 'markdown')
    expect(fields.length).toBeGreaterThan(0)
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length)
    for (const { type, id } of fields) {
      expect(['textarea', 'input', 'dropdown', 'checkboxes']).toContain(type)
      expect(id).toMatch(/^[\w-]+$/)
    }
  })

  it('CODEOWNERS names paths that exist, each with an owner', () => {
    const lines = read('.github/CODEOWNERS')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    for (const line of lines) {
      const [path = '', owner] = line.split(/\s+/)
      expect(owner, line).toMatch(/^@/)
      if (path !== '*') expect(existsSync(`${ROOT}${path}`), line).toBe(true)
    }
  })

  it('.nvmrc is the oldest supported major', () => {
    expect(manifest.engines.node).toContain(`>=${read('.nvmrc').trim()}.`)
  })

  it('renovate.json finds each runtime that is installed from npm', () => {
    const { customManagers } = JSON.parse(read('renovate.json')) as {
      customManagers: { matchStrings: string[] }[]
    }
    const [pattern = ''] = customManagers[0]?.matchStrings ?? []
    const found = [...read('test/runtimes/install.ts').matchAll(new RegExp(pattern, 'g'))]
    expect(found.map(({ groups }) => groups?.depName)).toEqual(['bun', 'deno', 'workerd'])
    for (const { groups } of found) expect(groups?.currentValue).toMatch(/^\d+\.\d+\.\d+$/)
  })
})
