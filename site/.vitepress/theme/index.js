// VitePress's own theme without its font: the reader's system has one.
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme
