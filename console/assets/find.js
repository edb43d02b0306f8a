/** The key `/` goes to the field that finds, except in a field. */
'use strict'
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, select, textarea') !== null) return
  event.preventDefault()
  document.getElementById('find').select()
})
