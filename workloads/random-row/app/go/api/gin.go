package api

import (
	"math/rand"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
)

// NewGin makes the same API with the gin framework, as it is set up for production.
func NewGin(rows *Rows) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.Recovery())
	router.HandleMethodNotAllowed = true
	router.GET("/row", func(c *gin.Context) { showGin(c, rows, 1+rand.Intn(all)) })
	router.POST("/row", func(c *gin.Context) { changeGin(c, rows, 1+rand.Intn(all), 1+rand.Intn(most)) })
	router.GET("/row/:id", func(c *gin.Context) {
		if row.MatchString(c.Request.URL.Path) {
			id, _ := strconv.Atoi(c.Param("id")) // at most nine digits
			showGin(c, rows, id)
			return
		}
		c.Status(http.StatusNotFound)
	})
	return router
}

func showGin(c *gin.Context, rows *Rows, id int) {
	row, found, err := rows.read(c.Request.Context(), id)
	switch {
	case err != nil:
		_ = c.AbortWithError(http.StatusInternalServerError, err)
	case !found:
		c.Status(http.StatusNotFound)
	default:
		c.JSON(http.StatusOK, row)
	}
}

func changeGin(c *gin.Context, rows *Rows, id, number int) {
	if err := rows.change(c.Request.Context(), id, number); err != nil {
		_ = c.AbortWithError(http.StatusInternalServerError, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"id": id, "number": number})
}
