#!/usr/bin/env node
// Plain JavaScript: it has to run on a Node that cannot read the other files.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const fits = major > 22 || (major === 22 && minor >= 18)

if (!fits) {
  console.error(
    `Simherd needs Node 22.18 or newer, this is ${process.versions.node} (${process.execPath}). ` +
      'Run "npm ci" here and then "npx simherd" or "npm start": they bring their own Node 24.',
  )
  process.exit(1)
}
await import('./main.ts')
