// Style sheets are bundled separately from the code, which imports nothing of them by name.
declare module '*.css'
